"""Terms of W3C's Data Privacy Vocabulary (DPV 2.1): their names, broader terms, and counterparts in LPL.

Names and order are derived from the vocabularies, see LICENSE-W3C.txt. A line is a term and narrower ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from veil.policy.rules.checks import CATEGORIES
from veil.policy.rules.names import plain

PREFIXES = {
    "dct": "http://purl.org/dc/terms/",
    "dpv": "https://w3id.org/dpv#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "gdpr": "https://w3id.org/dpv/legal/eu/gdpr#",
    "odrl": "http://www.w3.org/ns/odrl/2/",
    "owl": "http://www.w3.org/2002/07/owl#",
    "pd": "https://w3id.org/dpv/pd#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "time": "http://www.w3.org/2006/time#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}

_OTHER_PLACES = (
    # Earlier versions of a vocabulary had other addresses, and each version has its own.
    ("dpv", r"https?://(?:www\.)?w3(?:id)?\.org/(?:ns/)?dpv(?:/[0-9.]+)?(?:/(?:dpv-)?owl|/dpv)?#"),
    ("pd", r"https?://(?:www\.)?w3(?:id)?\.org/(?:ns/)?dpv(?:/[0-9.]+)?[-/](?:dpv-)?pd(?:/owl)?#"),
    ("gdpr", r"https?://(?:www\.)?w3(?:id)?\.org/(?:ns/)?dpv(?:/[0-9.]+)?[-/](?:legal/eu/|dpv-)?gdpr#"),
    ("odrl", r"https?://(?:www\.)?w3\.org/ns/odrl/2/"),
    ("dct", r"http://purl\.org/dc/elements/1\.1/"),
)
_PLACES = [
    *((prefix, re.compile(re.escape(place))) for prefix, place in PREFIXES.items()),
    *((prefix, re.compile(pattern)) for prefix, pattern in _OTHER_PLACES),
]


def short(iri: str) -> str:
    """Return an IRI with the prefix of its vocabulary, of any version; any other IRI unchanged.

    >>> [short(f"https://w3id.org/{each}") for each in ("dpv/2.0#Marketing", "dpv/pd#Age", "x")]
    ['dpv:Marketing', 'pd:Age', 'https://w3id.org/x']
    """
    for prefix, place in _PLACES:
        match = place.match(iri)
        if match is not None:
            name = f"{prefix}:{iri[match.end() :]}"
            return _FORMER.get(name, name)
    return iri


_FORMER = {"dpv:hasPersonalDataHandling": "dpv:hasProcess", "dpv:PersonalDataHandling": "dpv:Process"}
"""Terms of the first version of DPV, with their names in the second."""


def local(name: str) -> str:
    """Return the last part of a name.

    >>> local("dpv:Marketing"), local("https://example.org/purposes/trials"), local("urn:uuid:7f3a")
    ('Marketing', 'trials', '7f3a')
    """
    return re.split(r"[#/:]", name.rstrip("#/:"))[-1] or name


def _broader_terms(text: str) -> dict[str, tuple[str, ...]]:
    """Return the broader terms of each term, from lines of a term and its narrower terms."""
    parents: dict[str, tuple[str, ...]] = {}
    for line in text.strip().splitlines():
        parent, _, children = line.partition(":")
        for child in children.split():
            parents[child] = (*parents.get(child, ()), parent.strip())
    return parents


PURPOSES = _broader_terms("""
    Purpose: AccountManagement CommercialPurpose CommunicationManagement CustomerManagement EnforceSecurity
    Purpose: EstablishContractualAgreement FulfilmentOfObligation HumanResourceManagement Marketing NonCommercialPurpose
    Purpose: OrganisationGovernance Personalisation PublicBenefit RecordManagement ResearchAndDevelopment
    Purpose: ServiceProvision VendorManagement
    Advertising: PersonalisedAdvertising PoliticalCampaign RecruitmentAdvertising
    CommercialPurpose: CommercialResearch
    CommunicationManagement: CommunicationForCustomerCare
    CustomerCare: CommunicationForCustomerCare
    CustomerManagement: CustomerCare CustomerClaimsManagement CustomerOrderManagement CustomerRelationshipManagement
    CustomerManagement: CustomerSolvencyMonitoring
    CustomerRelationshipManagement: ImproveInternalCRMProcesses
    EnforceSecurity: EnforceAccessControl IdentityAuthentication MisusePreventionAndDetection Verification
    FraudPreventionAndDetection: CounterMoneyLaundering MaintainFraudDatabase
    FulfilmentOfObligation: FulfilmentOfContractualObligation LegalCompliance ProtectionOfIPR
    HumanResourceManagement: PersonnelManagement
    LegalCompliance: RightsFulfillment
    Marketing: Advertising DirectMarketing PublicRelations SocialMediaMarketing
    MisusePreventionAndDetection: FraudPreventionAndDetection
    NonCommercialPurpose: NonCommercialResearch
    OptimisationForConsumer: OptimiseUserInterface
    OptimisationForController: ImproveExistingProductsAndServices ImproveInternalCRMProcesses IncreaseServiceRobustness
    OptimisationForController: InternalResourceOptimisation
    OrganisationGovernance: DisputeManagement MemberPartnerManagement OrganisationComplianceManagement
    OrganisationGovernance: OrganisationRiskManagement
    Personalisation: PersonalisedAdvertising PoliticalCampaign ServicePersonalisation
    PersonalisedAdvertising: TargetedAdvertising
    PersonnelHiring: PersonnelOnboarding RecruitmentAdvertising RecruitmentManagement
    PersonnelManagement: PersonnelHiring PersonnelMonitoring PersonnelOffboarding PersonnelPayment
    PersonnelManagement: PersonnelPerformanceManagement PersonnelPromotionManagement PersonnelTerminationManagement
    PersonnelManagement: PersonnelWorkloadManagement
    PersonnelMonitoring: PersonnelBehaviourMonitoring PersonnelPerformanceMonitoring
    PersonnelPerformanceManagement: PersonnelPerformanceEvaluation PersonnelPerformancePrediction
    ProvidePersonalisedRecommendations: ProvideEventRecommendations ProvideProductRecommendations
    PublicBenefit: CombatClimateChange Counterterrorism DataAltruism ImproveHealthcare ImprovePublicServices
    PublicBenefit: ImproveTransportMobility ProtectionOfNationalSecurity ProtectionOfPublicSecurity
    PublicBenefit: ProvideOfficialStatistics PublicPolicyMaking
    RecruitmentApplicationManagement: RecruitmentApplicationAnalysis RecruitmentApplicationScreening
    RecruitmentInterviewManagement: RecruitmentInterviewAnalysis RecruitmentInterviewAssessment
    RecruitmentInterviewManagement: RecruitmentInterviewScheduling
    RecruitmentManagement: RecruitmentApplicantBackgroundCheck RecruitmentApplicantCriminalBackgroundCheck
    RecruitmentManagement: RecruitmentApplicantInformationAuthentication RecruitmentApplicantSelection
    RecruitmentManagement: RecruitmentApplicationManagement RecruitmentInterviewManagement
    RequestedServiceProvision: DeliveryOfGoods
    ResearchAndDevelopment: AcademicResearch CommercialResearch NonCommercialResearch ScientificResearch
    SellProducts: SellDataToThirdParties SellInsightsFromData SellProductsToDataSubject
    ServiceOptimisation: OptimisationForConsumer OptimisationForController
    ServicePersonalisation: PersonalisedBenefits ProvidePersonalisedRecommendations UserInterfacePersonalisation
    ServiceProvision: PaymentManagement RepairImpairments RequestedServiceProvision SearchFunctionalities SellProducts
    ServiceProvision: ServiceOptimisation ServicePersonalisation ServiceRegistration ServiceUsageAnalytics
    ServiceProvision: TechnicalServiceProvision
    VendorManagement: VendorPayment VendorRecordsManagement VendorSelectionAssessment
    Verification: AgeVerification IdentityVerification
""")

PERSONAL_DATA = _broader_terms("""
    AccountIdentifier: FinancialAccountNumber PaymentCardNumber
    Age: AgeRange BirthDate
    AgeRange: AgeExact
    Authenticating: PINCode Password SecretText
    Behavioral: Attitude AuthenticationHistory BrowsingBehavior CallLog Demeanor LinkClicked PerformanceAtWork
    Behavioral: Personality Reliability ServiceConsumptionBehavior VehicleUsage
    Biometric: FacialExpression FacialPrint Fingerprint Retina
    BirthPlace: BirthCountry
    BrowsingBehavior: BrowserHistory BrowsingReferral
    Communication: EmailContent SocialMedia SocialMediaCommunication VoiceCommunicationRecording VoiceMail
    Contact: EmailAddress PhysicalAddress TelephoneNumber
    Credit: CreditCapacity CreditRecord CreditStanding CreditWorthiness
    CreditWorthiness: CreditScore
    Criminal: CriminalCharge CriminalConviction CriminalOffense CriminalPardon
    Demographic: Geographic IncomeBracket PhysicalTrait
    DeviceBased: BrowserFingerprint DeviceSoftware IPAddress MACAddress
    DeviceSoftware: DeviceApplications DeviceOperatingSystem
    Education: EducationExperience EducationQualification
    EmailAddress: EmailAddressPersonal EmailAddressWork
    EmploymentHistory: CurrentEmployment PastEmployment
    Ethnicity: EthnicOrigin Race
    External: Behavioral Citizenship Demographic Ethnicity Identifying Language MedicalHealth Nationality
    External: PersonalDocuments PhysicalCharacteristic Sexual Vehicle
    Family: FamilyStructure Relationship
    FamilyStructure: Divorce Marriage Offspring Parent Sibling
    Favorite: FavoriteColor FavoriteFood FavoriteMusic
    Financial: FinancialAccount FinancialStatus Insurance Ownership Transactional
    FinancialAccount: AccountIdentifier BankAccount PaymentCard
    GroupMembership: TradeUnionMembership
    Health: Genetic MentalHealth PhysicalHealth
    HealthHistory: FamilyHealthHistory IndividualHealthHistory
    Historical: LifeHistory
    HouseOwned: ApartmentOwned
    Identifying: Biometric Name OfficialID Picture UID Username VehicleLicense
    Interest: Dislike Like
    Internal: Authenticating Emotion KnowledgeBelief Mood Preference
    KnowledgeBelief: PhilosophicalBelief ReligiousBelief Thought
    Language: Accent Dialect
    Location: BirthPlace Country Domicile GPSCoordinate PhysicalAddress Residency TravelHistory
    MedicalHealth: BloodType DNACode Disability DrugTestResult Health HealthHistory HealthRecord Prescription
    OfficialID: Passport
    Ownership: CarOwned HouseOwned PersonalPossession
    PaymentCard: PaymentCardExpiry PaymentCardNumber
    PaymentCardNumber: CreditCardNumber
    PhysicalAddress: City HouseNumber Locality PostalCode Region RoomNumber Street
    PhysicalCharacteristic: Age Gender HairColor Height Piercing SkinTone Tattoo Weight
    Preference: Favorite Intention Interest Opinion PrivacyPreference
    Professional: DisciplinaryAction Education EmploymentHistory Job PerformanceAtWork ProfessionalCertification
    Professional: ProfessionalEvaluation ProfessionalInterview Reference Salary School WorkEnvironment WorkHistory
    Profile: GroupProfile IndividualProfile
    PublicLife: Character CommunicationsMetadata GeneralReputation Interaction MaritalStatus PoliticalAffiliation
    PublicLife: PoliticalOpinion Religion SocialStatus
    ServiceConsumptionBehavior: TVViewingBehavior
    Sexual: Fetish Proclivity SexualHistory SexualPreference
    Social: Communication Criminal Family Professional PublicLife SocialNetwork
    SocialMedia: PubliclyAvailableSocialMedia
    SocialNetwork: Acquantaince Association Connection Friend GroupMembership
    SpecialCategoryPersonalData: Biometric EthnicOrigin MedicalHealth PhilosophicalBelief PoliticalAffiliation
    SpecialCategoryPersonalData: PoliticalOpinion Race Religion ReligiousBelief Sexual TradeUnionMembership
    Tracking: Contact DeviceBased DigitalFingerprint Identifier Location UserAgent
    Transactional: Credit Income LoanRecord Purchase PurchasesAndSpendingHabit Sale Tax Transaction
    Vehicle: VehicleLicense VehicleUsage
    VehicleLicense: VehicalLicenseNumber VehicalLicenseRegistration
""")

GROUPS = {
    "EI": "AccountIdentifier Authenticating Biometric Contact DeviceBased DigitalFingerprint HouseNumber Identifier"
    " Identifying PersonalDocuments RoomNumber SocialMedia Street VehicleLicense VoiceCommunicationRecording VoiceMail",
    "QID": "Age Citizenship City Country Demographic Education EmploymentHistory Ethnicity Family Gender GPSCoordinate"
    " Job Language Locality Location MaritalStatus Nationality PhysicalCharacteristic PostalCode Region School Vehicle"
    " WorkHistory",
    "SD": "Behavioral Criminal DisciplinaryAction Emotion Financial KnowledgeBelief MedicalHealth Mood PoliticalAffiliation"
    " PoliticalOpinion Preference Religion Salary SensitivePersonalData Sexual SpecialCategoryPersonalData"
    " TradeUnionMembership",
    "NSD": "AnonymisedData NonPersonalData SyntheticData",
}
"""Categories with the privacy group proposed for them and narrower ones. On others a person decides."""

_GROUP_OF = {name: group for group, names in GROUPS.items() for name in names.split()}

LEGAL_BASES = {
    "Consent": "consent",
    "Contract": "contract",
    "ContractPerformance": "contract",
    "EnterIntoContract": "contract",
    "LegalObligation": "legalObligation",
    "LegitimateInterest": "legitimateInterest",
    "LegitimateInterestOfController": "legitimateInterest",
    "LegitimateInterestOfDataSubject": "legitimateInterest",
    "LegitimateInterestOfThirdParty": "legitimateInterest",
    "OfficialAuthorityOfController": "publicTask",
    "PublicInterest": "publicTask",
    "VitalInterest": "vitalInterest",
    "VitalInterestOfDataSubject": "vitalInterest",
    "VitalInterestOfNaturalPerson": "vitalInterest",
    # Article 6 (1) of the General Data Protection Regulation, point by point
    "A6-1-a": "consent",
    "A6-1-a-explicit-consent": "consent",
    "A6-1-a-non-explicit-consent": "consent",
    "A6-1-b": "contract",
    "A6-1-c": "legalObligation",
    "A6-1-d": "vitalInterest",
    "A6-1-e": "publicTask",
    "A6-1-f": "legitimateInterest",
}

ANONYMISATION = ("Anonymisation", "Anonymise", "anonymize", "Deidentification")
DIFFERENTIAL_PRIVACY = ("DifferentialPrivacy",)
RANDOM_PSEUDONYMS = ("Pseudonymisation", "Pseudonymise", "RNGPseudonymisation")
OTHER_PSEUDONYMS = (
    *("DeterministicPseudonymisation", "DocumentRandomisedPseudonymisation"),
    *("FullyRandomisedPseudonymisation", "MonotonicCounterPseudonymisation"),
)
"""Pseudonyms that a policy of Veil has no name for, or that need a key without naming it."""
DEIDENTIFICATION = (*ANONYMISATION, *DIFFERENTIAL_PRIVACY, *RANDOM_PSEUDONYMS, *OTHER_PSEUDONYMS)

CONSENT_GIVEN = ("ConsentGiven", "RenewedConsentGiven")
CONSENT_MISSING = (
    *("ConsentExpired", "ConsentInvalidated", "ConsentRefused", "ConsentRequestDeferred", "ConsentRequested"),
    *("ConsentRevoked", "ConsentUnknown", "ConsentWithdrawn"),
)


def with_broader(start: Iterable[str], above: Callable[[str], Iterable[str]]) -> Iterator[str]:
    """Yield terms and then all broader ones, the nearest first, each once."""
    queue = list(dict.fromkeys(start))
    names = set(queue)
    while queue:
        name = queue.pop(0)
        yield name
        for each in above(name):
            if each not in names:
                names.add(each)
                queue.append(each)


def broader_in(vocabulary: Mapping[str, tuple[str, ...]]) -> Callable[[str], tuple[str, ...]]:
    """Return a function from a term to its directly broader terms."""
    return lambda name: vocabulary.get(name, ())


def group_of_category(names: Iterable[str]) -> str | None:
    """Return the privacy group of the nearest category that has one; None if there is none.

    >>> [group_of_category([each]) for each in ("EmailAddressPersonal", "PostalCode", "Health")]
    ['EI', 'QID', 'SD']
    >>> group_of_category(["FavouriteIceCream"])
    """
    for name in with_broader(names, broader_in(PERSONAL_DATA)):
        if name in _GROUP_OF:
            return _GROUP_OF[name]
    return None


_CATEGORIES = {plain(each): each for each in CATEGORIES}


def category_of_purpose(names: Iterable[str]) -> str:
    """Return the category of LPL that purposes fall under.

    >>> category_of_purpose(["AcademicResearch"]), category_of_purpose(["ImproveHealthcare"])
    ('researchAndDevelopment', 'other')
    """
    for name in with_broader(names, broader_in(PURPOSES)):
        if plain(name) in _CATEGORIES:
            return _CATEGORIES[plain(name)]
    return "other"
