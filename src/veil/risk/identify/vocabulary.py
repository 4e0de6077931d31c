"""English and German words by which columns are recognized: common names, places, and names of columns.

All are in lower case, with ae, oe, ue and ss for umlauts and ß, as `plain` spells them. The lists need not be
complete, as a column is recognized by most of its values.
"""

from __future__ import annotations

import re
from typing import Literal

_SPELLINGS = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "é": "e", "è": "e", "á": "a", "ó": "o", "ñ": "n"}


def plain(text: str) -> str:
    """Return a text in lower case and without umlauts and accents.

    >>> plain(" Straße ")
    'strasse'
    """
    lower = text.strip().lower()
    return "".join(_SPELLINGS.get(each, each) for each in lower)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _lines(text: str) -> frozenset[str]:
    return frozenset(each.strip() for each in text.split(",") if each.strip())


FIRST_NAMES = _words("""
    aaron abigail adam adrian alan albert alexander alexandra alexis alfred alice alicia alina alison amanda amber amelia
    amy andrea andreas andrew angela anita anja anke ann anna anne annette anneliese anthony anton antonia antje april
    arthur ashley astrid axel barbara beate ben benjamin bernd bernhard beth betty beverly birgit bjoern bobby bonnie
    bradley brandon brenda brian brigitte bruce bryan carl carla carol caroline carolin carolyn catherine charles
    charlotte cheryl chloe chris christa christian christiane christina christine christoph christopher cindy clara
    claudia connor cornelia craig crystal cynthia dagmar daniel daniela danielle david dawn deborah denise dennis detlef
    diana diane dieter dirk donald donna doris dorothea dorothy douglas dylan eberhard edward eileen elena elfriede
    elisabeth elizabeth elke ella ellen emil emily emma eric erich erik erika ernst erwin ethan eugene eva evelyn
    fabian felix ferdinand finn florian frances francis frank franz franziska frederick friedrich fritz gabriel gabriele
    gary george georg gerald gerd gerda gerhard gertrud gisela gloria grace greta gregory guenter guenther gudrun hannah
    hanna hannelore hans harald harold harry heather heidi heike heiko heinrich heinz helen helena helga helmut henry
    herbert hermann hilde hildegard holger horst howard hubert hugo ian ida ilse ina ines inge ingeborg ingo ingrid irene
    iris irma isaac isabel isabella jack jacob jacqueline jakob james jan jana janet janice jasmin jason jean jeffrey
    jennifer jens jeremy jerry jessica joachim joan joerg johanna johann johannes john jonas jonathan jordan jose josef
    joseph joshua joyce juan judith judy juergen julia julian juliane justin jutta kai karen karin karl karla karsten
    katharina katherine kathleen kathrin katja katrin keith kelly kenneth kerstin kevin kim kimberly klara klaus konrad
    kurt kyle lara larry lars laura lauren lawrence lea lena leo leon leonard leonie lina linda lisa logan lothar louis
    louisa louise luca lucas luis luisa lukas lydia madison maik maja manfred manuela marc marcel marco marcus margaret
    margarete margot maria marianne marie marilyn marina mario marion mark markus martha martin martina mary mathilda
    matthew matthias maurice max maximilian megan melanie melissa mia michael michaela michelle mike mila miriam mohamed
    mohammed monika moritz nadine nancy natalie nathan neil nicholas nico nicole niklas nikolaus nils nina noah nora
    norbert olaf oliver olivia oskar otto pamela pascal patricia patrick paul paula pauline peggy peter petra philip
    philipp phillip phyllis pia rachel rainer ralf ralph ramona raymond rebecca regina reinhard renate rene richard
    rita robert roberto robin roger roland rolf ronald ronny rosemarie rosemary roy ruben rudolf russell ruth ryan
    sabine sabrina samantha samuel sandra sara sarah scott sean sebastian sharon shirley siegfried sigrid silke silvia
    simon simone sofia sonja sophia sophie stefan stefanie steffen stephan stephanie stephen steven susan susanne sven
    svenja sylvia tamara tanja tatjana teresa theodor theo theresa thomas thorsten tim timo timothy tina tobias tom
    torsten tyler udo ulrich ulrike ursula ute uwe valentin vanessa vera verena veronika victor victoria viktoria
    vincent virginia volker walter waltraud wayne werner wiebke wilhelm wilhelmine william willi wolfgang yasmin yusuf
    yvonne zachary zoe
    """)

LAST_NAMES = _words("""
    adams albrecht alexander allen anderson arnold bailey baker barnes bauer baumann beck becker bell bennett berger
    bergmann bishop boehm brandt braun brooks brown bryant burns busch butler campbell carter castillo chavez clark
    coleman collins cook cooper cox cruz davis diaz dietrich edwards ellis engel ernst evans fischer fisher fleischer
    flores ford foster fox frank franke freeman friedrich fuchs garcia gardner gibson gomez gonzales gonzalez graf graham
    grant gray green griffin gross guenther gutierrez haas hahn hall hamilton harris harrison hartmann hartwig heinrich
    henderson henry herman hernandez herrmann hill hoffmann hofmann horn howard huber hughes hunt hunter jackson jaeger
    jahn james jenkins johnson jones jordan jung kaiser kaya keller kelly kennedy kim king klein knight koch koehler
    koenig kowalski kraemer kramer kraus krause krueger kuehn kuhn lang lange lee lehmann lewis long lopez lorenz ludwig
    maier marshall martin martinez mason mayer mccoy mcdonald mendoza meier meyer meyers miller mitchell moeller
    mohr moore morales moreno morgan morris mueller murphy murray myers nelson neumann nguyen olson ortiz otto owens
    palmer parker patel patterson perez perry peters peterson pfeiffer phillips pohl porter powell price ramirez ramos
    reed reyes reynolds rice richards richardson richter rivera roberts robertson robinson rodriguez rogers romero rose
    ross roth ruiz russell ryan sanchez sanders sauer schaefer schmid schmidt schmitt schmitz schneider scholz schreiber
    schroeder schubert schulte schultz schulz schulze schumacher schuster schwarz scott seidel shaw silva simmons simon
    simpson smith snyder sommer stein stephens stevens stewart stone sullivan taylor thomas thompson torres tucker turner
    vargas vogel vogt voigt wagner walker wallace walter ward warren washington watson weaver weber webb weiss wells
    werner west white williams wilson winkler winter wolf wolff wood woods wright yilmaz young ziegler zimmermann
    """)

CITIES = _lines("""
    albuquerque, amarillo, anaheim, anchorage, arlington, atlanta, augusta, aurora, austin, bakersfield, baltimore,
    baton rouge, birmingham, boise, boston, bridgeport, buffalo, chandler, charleston, charlotte, chattanooga, chicago,
    cincinnati, cleveland, colorado springs, columbus, corpus christi, dallas, dayton, denver, des moines, detroit,
    durham, el paso, eugene, fargo, fort lauderdale, fort wayne, fort worth, fremont, fresno, glendale, grand rapids,
    greensboro, hartford, henderson, honolulu, houston, huntsville, indianapolis, irvine, jackson, jacksonville,
    jersey city, kansas city, knoxville, lansing, laredo, las vegas, lexington, lincoln, little rock, long beach,
    los angeles, louisville, lubbock, madison, memphis, mesa, miami, milwaukee, minneapolis, mobile, modesto, montgomery,
    nashville, new haven, new orleans, new york, new york city, newark, norfolk, oakland, oklahoma city, omaha, orlando,
    pasadena, peoria, philadelphia, phoenix, pittsburgh, plano, portland, providence, raleigh, reno, richmond, riverside,
    rochester, sacramento, saint louis, saint paul, salem, salt lake city, san antonio, san bernardino, san diego,
    san francisco, san jose, santa ana, savannah, scottsdale, seattle, shreveport, sioux falls, spokane, springfield,
    st. louis, st. paul, stockton, syracuse, tacoma, tallahassee, tampa, toledo, topeka, tucson, tulsa, tuscaloosa,
    virginia beach, washington, wichita, wilmington, worcester, yonkers,
    london, manchester, liverpool, leeds, glasgow, edinburgh, bristol, sheffield, cardiff, belfast, nottingham,
    leicester, toronto, montreal, vancouver, calgary, ottawa, sydney, melbourne, brisbane, perth, auckland, dublin,
    aachen, augsburg, bayreuth, berlin, bielefeld, bochum, bonn, bottrop, braunschweig, bremen, bremerhaven, chemnitz,
    cottbus, darmstadt, dortmund, dresden, duisburg, duesseldorf, erfurt, erlangen, essen, esslingen, flensburg, frankfurt,
    frankfurt am main, freiburg, freising, fuerth, fulda, garmisch-partenkirchen, gelsenkirchen, gera, giessen, goettingen,
    goerlitz, greifswald, hagen, halle, hamburg, hamm, hanau, hannover, heidelberg, heilbronn, herne, hildesheim,
    ingolstadt, jena, kaiserslautern, karlsruhe, kassel, kempten, kiel, koblenz, koeln, cologne, konstanz, krefeld,
    landshut, leipzig, leverkusen, ludwigsburg, ludwigshafen, luebeck, lueneburg, magdeburg, mainz, mannheim, marburg,
    moenchengladbach, muenchen, munich, muelheim, muenster, neuss, nuernberg, nuremberg, oberhausen, offenbach, oldenburg,
    osnabrueck, paderborn, passau, pforzheim, plauen, potsdam, recklinghausen, regensburg, remscheid, reutlingen,
    rosenheim, rostock, saarbruecken, salzgitter, schweinfurt, schwerin, siegen, solingen, stralsund, stuttgart, trier,
    tuebingen, ulm, weimar, wiesbaden, witten, wolfsburg, wuerzburg, wuppertal, zwickau,
    wien, vienna, graz, linz, salzburg, innsbruck, klagenfurt, zuerich, zurich, genf, geneva, basel, bern, lausanne,
    winterthur, luzern, st. gallen
    """)

STATES = _lines("""
    alabama, alaska, arizona, arkansas, california, colorado, connecticut, delaware, florida, georgia, hawaii, idaho,
    illinois, indiana, iowa, kansas, kentucky, louisiana, maine, maryland, massachusetts, michigan, minnesota, mississippi,
    missouri, montana, nebraska, nevada, new hampshire, new jersey, new mexico, new york, north carolina, north dakota,
    ohio, oklahoma, oregon, pennsylvania, rhode island, south carolina, south dakota, tennessee, texas, utah, vermont,
    virginia, washington, west virginia, wisconsin, wyoming, district of columbia, puerto rico, guam,
    al, ak, az, ar, ca, co, ct, de, fl, ga, hi, id, il, in, ia, ks, ky, la, me, md, ma, mi, mn, ms, mo, mt, ne, nv, nh, nj,
    nm, ny, nc, nd, oh, ok, or, pa, ri, sc, sd, tn, tx, ut, vt, va, wa, wv, wi, wy, dc, pr,
    baden-wuerttemberg, bayern, bavaria, berlin, brandenburg, bremen, hamburg, hessen, hesse, mecklenburg-vorpommern,
    niedersachsen, lower saxony, nordrhein-westfalen, north rhine-westphalia, rheinland-pfalz, saarland, sachsen, saxony,
    sachsen-anhalt, saxony-anhalt, schleswig-holstein, thueringen, thuringia,
    bw, by, be, bb, hb, hh, he, mv, ni, nw, rp, sl, sn, st, sh, th,
    burgenland, kaernten, niederoesterreich, oberoesterreich, salzburg, steiermark, tirol, vorarlberg, wien,
    england, scotland, wales, northern ireland, ontario, quebec, british columbia, alberta, manitoba, saskatchewan
    """)

RESTRICTED_ZIP_AREAS = _words("036 059 063 102 203 556 692 790 821 823 830 831 878 879 884 890 893")
"""First three digits of US ZIP codes of areas with 20,000 people or fewer, which HIPAA requires to be 000."""

COLUMN_NAMES: dict[str, frozenset[str]] = {
    "identifier": _lines("""
        id, identifier, identification number, ident, key, pid, person id, patient id, patient number, subject id,
        subject number, participant id, customer id, customer number, client id, client number, member id, member number,
        employee id, employee number, case number, case id, record id, record number, user id, username, login, uuid, guid,
        pseudonym, serial number, kennung, kennzahl, kennziffer, personennummer, personalnummer, patientennummer,
        patienten id, probanden id, probandennummer, kundennummer, kunden id, mitarbeiternummer, mitgliedsnummer,
        fallnummer, fall id, fall nr, nr, lfd nr, vorgangsnummer, aktenzeichen, benutzername, laufende nummer, matrikelnummer
        """),
    "name": _lines("""
        name, full name, fullname, patient name, person name, customer name, contact name, maiden name, nickname, signature,
        gesamtname, vollstaendiger name, patientenname, kundenname, ansprechpartner, geburtsname, spitzname, unterschrift
        """),
    "first name": _lines(
        "first name, firstname, given name, forename, christian name, middle name, vorname, rufname, zweitname"
    ),
    "last name": _lines("""
        last name, lastname, surname, family name, second name, nachname, familienname, zuname
        """),
    "address": _lines("""
        address, street, street address, home address, house number, postal address, mailing address, residence, adresse,
        anschrift, strasse, hausnummer, wohnadresse, postanschrift, wohnanschrift
        """),
    "city": _lines(
        "city, town, municipality, village, place of residence, stadt, ort, wohnort, gemeinde, ortsname"
    ),
    "zip": _lines("""
        zip, zip code, zipcode, postal code, postcode, zip3, zip5, plz, postleitzahl
        """),
    "state": _lines("state, province, us state, federal state, bundesland, kanton, provinz"),
    "geography": _lines("""
        county, district, precinct, census tract, region, geocode, latitude, longitude, lat, lon, lng, coordinates,
        neighborhood, neighbourhood, place of birth, birthplace, birth place, location, landkreis, kreis, bezirk, stadtteil,
        ortsteil, regierungsbezirk, breitengrad, laengengrad, koordinaten, geburtsort, standort
        """),
    "date": _lines("""
        date, datetime, timestamp, birth date, birthdate, date of birth, dob, birthday, birth year, year of birth, birth month,
        admission date, discharge date, date of death, death date, visit date, date of service, datum, geburtsdatum, geburtstag,
        geburtsjahr, jahrgang, aufnahmedatum, entlassungsdatum, todesdatum, sterbedatum, sterbetag, besuchsdatum,
        behandlungsdatum, zeitstempel
        """),
    "age": _lines("age, age at diagnosis, age at admission, age years, alter, lebensalter, alter in jahren"),
    "phone": _lines("""
        phone, phone number, telephone, telephone number, tel, mobile, mobile number, mobile phone, cell, cell phone, telefon,
        telefonnummer, handy, handynummer, mobilnummer, mobiltelefon, rufnummer, festnetz
        """),
    "fax": _lines("fax, fax number, facsimile, telefax, faxnummer"),
    "email": _lines("email, e mail, email address, mail, mail address, emailadresse, mailadresse"),
    "social security": _lines("""
        ssn, social security, social security number, national id, national insurance number, nino, passport number, tax id, tin,
        sozialversicherungsnummer, rentenversicherungsnummer, versicherungsnummer, sv nummer, steuernummer, steuer id,
        steueridentifikationsnummer, personalausweisnummer, ausweisnummer, passnummer, reisepassnummer
        """),
    "medical record": _lines("""
        mrn, medical record, medical record number, chart number, hospital number, patient record, krankenaktennummer,
        patientenakte, aktennummer, krankenakte
        """),
    "health plan": _lines("""
        health plan, health plan number, health plan beneficiary number, beneficiary number, beneficiary id, insurance number,
        policy number, nhs number, medicare number, medicaid number, krankenversichertennummer, krankenversicherungsnummer,
        versichertennummer, policennummer, kvnr, krankenkassennummer
        """),
    "account": _lines("""
        account, account number, bank account, iban, bic, credit card, credit card number, card number, konto, kontonummer,
        bankverbindung, kreditkarte, kreditkartennummer
        """),
    "certificate": _lines("""
        certificate, certificate number, license, license number, licence number, driver license, drivers license number,
        driving licence, zertifikat, zertifikatsnummer, lizenznummer, fuehrerschein, fuehrerscheinnummer, zulassungsnummer
        """),
    "vehicle": _lines("""
        vehicle, vehicle id, vehicle identification number, vin, license plate, licence plate, plate number, number plate,
        registration plate, kennzeichen, kfz kennzeichen, nummernschild, fahrgestellnummer, fahrzeugnummer, fin
        """),
    "device": _lines("""
        device, device id, device identifier, device serial number, mac address, imei, imsi, udid, implant number, geraet,
        geraetenummer, geraete id, mac adresse, seriennummer, implantatnummer
        """),
    "url": _lines("url, website, web site, homepage, web address, link, webseite, internetadresse"),
    "ip address": _lines("ip, ip address, ipv4, ipv6, ip adresse"),
    "biometric": _lines("""
        biometric, fingerprint, finger print, voiceprint, retina, iris scan, dna sequence, biometrie, fingerabdruck,
        stimmabdruck
        """),
    "photo": _lines("photo, photograph, picture, face image, portrait, foto, lichtbild, passbild, bild"),
}
"""What columns with identifiers are called, by category of HIPAA's Safe Harbor."""

QUASI_IDENTIFYING_NAMES = _lines("""
    sex, gender, race, ethnicity, ethnic group, ethnic origin, skin color, marital status, marital, civil status, education,
    education level, schooling, degree, occupation, profession, job, job title, employment, employment status, work, workclass,
    work class, employer, industry, nationality, citizenship, country, native country, country of birth, birth country, language,
    mother tongue, household size, household, hh size, hhsize, family size, number of children, children, height, weight, body height, eye color, hair color,
    insurance, insurance type, school, university, department, rank, migration background, military service,
    geschlecht, ethnie, ethnische herkunft, herkunft, hautfarbe, familienstand, bildung, bildungsgrad, schulabschluss,
    schulbildung, abschluss, ausbildung, beruf, taetigkeit, berufsgruppe, arbeitgeber, branche, beschaeftigung,
    erwerbsstatus, nationalitaet, staatsangehoerigkeit, staatsbuergerschaft, land, geburtsland, herkunftsland, sprache,
    muttersprache, haushaltsgroesse, hh groesse, kinder, kinderzahl, anzahl kinder, groesse, koerpergroesse, gewicht, koerpergewicht,
    augenfarbe, haarfarbe, versicherung, versicherungsart, schule, hochschule, abteilung, dienstgrad, migrationshintergrund
    """)
"""What columns are called that others may know of a person."""

SENSITIVE_NAMES = _lines("""
    diagnosis, diagnoses, disease, illness, condition, icd, icd code, comorbidity, symptom, symptoms, medication, medications,
    medicine, drug, drugs, therapy, treatment, procedure, surgery, finding, test result, lab result, laboratory, blood type,
    blood pressure, hiv, hiv status, allergy, allergies, vaccination, pregnancy, disability, mental health, cause of death,
    genotype, mutation, prognosis, smoking, smoker, alcohol, income, salary, salary class, wage, wages, earnings, debt, assets,
    wealth, credit score, benefits, religion, denomination, political party, party, political opinion, vote, union membership,
    trade union, sexual orientation, criminal record, offence, offense, conviction, grade, score, injury,
    diagnose, diagnosen, erkrankung, krankheit, vorerkrankung, nebendiagnose, hauptdiagnose, medikament, medikamente, medikation,
    arznei, arzneimittel, wirkstoff, behandlung, therapie, eingriff, operation, befund, laborwert, laborwerte, blutgruppe,
    blutdruck, hiv status, allergie, allergien, impfung, schwangerschaft, behinderung, grad der behinderung, todesursache,
    raucher, alkohol, einkommen, gehalt, lohn, verdienst, schulden, vermoegen, bonitaet, religion, konfession,
    religionszugehoerigkeit, partei, parteizugehoerigkeit, gewerkschaft, gewerkschaftszugehoerigkeit, sexuelle orientierung,
    vorstrafe, vorstrafen, straftat, note, verletzung
    """)
"""Names of columns with facts that people keep private."""

_PEOPLE = "|".join(
    sorted(
        _words("""
        patient person subject participant respondent client customer member user employee student pupil beneficiary insured
        enrollee citizen resident individual donor applicant proband worker borrower passenger subscriber
        patienten personen probanden teilnehmer kunden kunde mitglied mitglieder mitglieds mitarbeiter personal schueler studenten
        versicherten versicherter nutzer benutzer buerger spender
        """)
    )
)
_SHORT = "pat|pt|prob|proband|subj|usubj|cust|emp|empl|kd|kund|mitgl|vers|tn|schuel|stud|pers|versich"
"""Abbreviations of these, which mean a person only if one of the following comes after them."""
_NUMBER = "id|ids|no|nr|num|number|numbers|nummer|key|code|kennung|identifier|ident|pseudonym|hash|uid|uuid|guid|ref"
_PERSON_NUMBER = re.compile(
    rf"(?:{_PEOPLE}|{_SHORT})s?(?:{_NUMBER})|p?id|pseudonym|matrikelnummer|username|login"
)
_PERSON = re.compile(rf"(?:{_PEOPLE})")


def is_person_number(column: str) -> Literal["number", "word"] | None:
    """Return whether a column is named like a number of people or by a word for a person; None if neither.

    >>> [is_person_number(name) for name in ("Patient_ID", "PatNr", "patient", "patient_age", "pat")]
    ['number', 'number', 'word', None, None]
    """
    letters = re.sub(r"[^a-z]", "", plain(column))
    numbers = (COLUMN_NAMES[each] for each in ("social security", "medical record", "health plan"))
    person_numbers = {entry.replace(" ", "") for entries in numbers for entry in entries}
    if _PERSON_NUMBER.fullmatch(letters) or letters in person_numbers:
        return "number"
    return "word" if _PERSON.fullmatch(letters) else None
