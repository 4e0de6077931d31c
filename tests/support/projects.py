"""Archives as strangers send them, and projects as ARX writes them."""

from __future__ import annotations

import zipfile


def packed(parts, path, *, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name) if method == zipfile.ZIP_STORED else name, content)
    return path


def deid(path, *, criteria=("5-anonymity",), extra=None, definition=None):
    """A project as ARX writes it: the texts, and dumps that nobody reads."""
    assignment = "<assigment><name>{}</name><type>{}</type><datatype>{}</datatype>{}</assigment>"
    definition = definition or (
        assignment.format("name", "IDENTIFYING_ATTRIBUTE", "String", "")
        + assignment.format("age", "QUASI_IDENTIFYING_ATTRIBUTE", "Integer", "<ref>hierarchies/age.csv</ref><min>All</min><max>1</max>")
        + assignment.format("sex", "QUASI_IDENTIFYING_ATTRIBUTE", "String", "<ref>hierarchies/sex.csv</ref><min>0</min><max>All</max>")
        + assignment.format("ill", "SENSITIVE_ATTRIBUTE", "String", "")
        + assignment.format("day", "INSENSITIVE_ATTRIBUTE", "Date/Time", "<format>dd.MM.yyyy</format>")
    )  # fmt: skip
    people = [(name, 20 + i % 4, "fm"[i % 2], "xyz"[i % 3]) for i, name in enumerate("abcdefghijkl")]
    table = "name;age;sex;ill;day\n" + "".join(f"{a};{b};{c};{d};01.02.2020\n" for a, b, c, d in people)
    weights = "<attributeWeight><attribute>age</attribute><weight>0.9</weight></attributeWeight>"
    parts = {
        "metadata.xml": "<metadata><version>3.9.1</version><vocabulary>2.0</vocabulary></metadata>",
        "project.xml": "<project><name>Study</name><separator>;</separator><description>wards</description></project>",
        "project.dat": b"\xac\xed\x00\x05sr\x00",
        "data/input.csv": table,
        "input/config.xml": "<config><suppressionString>*</suppressionString><practicalMonotonicity>false</practicalMonotonicity>"
        f"<relativeMaxOutliers>0.05</relativeMaxOutliers><metric>Loss</metric><attributeWeights>{weights}</attributeWeights>"
        "<criteria>"
        + "".join(f"<criterion>{each}</criterion>" for each in criteria)
        + "</criteria></config>",
        "input/config.dat": b"\xac\xed\x00\x05sr\x00",
        "input/definition.xml": f"<definition>{definition}</definition>",
        "input/hierarchies/age.csv": "20;20-21;*\n21;20-21;*\n22;22-23;*\n23;22-23;*\n",
        "input/hierarchies/sex.csv": "f;*\nm;*\n",
        **(extra or {}),
    }
    return packed(parts, path, method=zipfile.ZIP_DEFLATED)
