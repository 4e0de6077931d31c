"""The report as a PDF file, by ReportLab. Its letters are those of DejaVu Sans, which comes with matplotlib."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from veil.errors import MissingDependencyError
from veil.report.pages.blocks import Block, Cell, Code, Grid, Heading, Picture, Section, Signatures, Text
from veil.report.pages.document import sections
from veil.report.pictures.by_name import picture

ACCENT, INK, LINE, WASH, GOOD, BAD = "#0b5c8f", "#1c2430", "#d9dee6", "#f4f7fa", "#17683f", "#b3261e"


def pdf(facts: dict[str, Any]) -> bytes:
    """Return the report as the bytes of a PDF file."""
    return bind(sections(facts), facts, title="Anonymization report")


def bind(chapters: Sequence[Section], facts: dict[str, Any], *, title: str) -> bytes:
    """Return sections as the bytes of a PDF file."""
    try:
        import matplotlib
        from reportlab.lib.pagesizes import A4
        from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer
    except ImportError:
        raise MissingDependencyError(
            "Reports as PDF need ReportLab and matplotlib. Install them with: pip install 'veil-anonymizer[report]'"
        ) from None
    _register(Path(matplotlib.get_data_path(), "fonts", "ttf"))
    page = _Page(facts)
    story: list[Any] = [
        Paragraph(escape(title), page.styles["title"]),
        Paragraph(
            f"Made on {facts['date']} with Veil {escape(facts['versions']['veil'])}", page.styles["note"]
        ),
        Spacer(1, 8),
    ]
    for at, section in enumerate(chapters, 1):
        link = f'<a href="#{section.key}" color="{ACCENT}">{at}&nbsp;&nbsp;{escape(section.title)}</a>'
        story.append(Paragraph(link, page.styles["contents"]))
    for at, section in enumerate(chapters, 1):
        story += page.section(at, section)
    file = BytesIO()
    made = SimpleDocTemplate(
        file, pagesize=A4, leftMargin=48, rightMargin=48, topMargin=48, bottomMargin=52,
        title=title, author="", creator="Veil", producer="Veil", subject="", lang="en",
    )  # fmt: skip
    footer = functools.partial(_footer, title=title)
    made.build(story, onFirstPage=footer, onLaterPages=footer)
    return file.getvalue()


def _register(folder: Path) -> None:
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont

    known = pdfmetrics.getRegisteredFontNames()
    for name in ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono"):
        if name not in known:
            pdfmetrics.registerFont(TTFont(name, str(folder / f"{name}.ttf")))


def _footer(canvas: Any, document: Any, *, title: str) -> None:
    canvas.saveState()
    canvas.setFont("DejaVuSans", 7)
    canvas.setFillColor("#5b6676")
    canvas.drawString(48, 30, title)
    canvas.drawRightString(document.pagesize[0] - 48, 30, str(canvas.getPageNumber()))
    canvas.restoreState()


class _Page:
    """Turns blocks into what ReportLab lays out."""

    def __init__(self, facts: dict[str, Any]) -> None:
        from reportlab.lib.pagesizes import A4
        from reportlab.lib.styles import ParagraphStyle

        self.facts, self.width = facts, A4[0] - 96 - 12
        base: dict[str, Any] = {"fontName": "DejaVuSans", "fontSize": 8.5, "leading": 12.5, "textColor": INK}

        def style(name: str, **changes: Any) -> Any:
            return ParagraphStyle(name, **{**base, "spaceAfter": 5, **changes})

        bold = {"fontName": "DejaVuSans-Bold"}
        self.styles = {
            "plain": style("plain"),
            "lead": style("lead", fontSize=9.5, leading=14),
            "note": style("note", fontSize=7.5, leading=10.5, textColor="#5b6676"),
            "notice": style(
                "notice", backColor=WASH, borderPadding=6, leftIndent=8, spaceBefore=8, spaceAfter=12
            ),
            "title": style("title", fontSize=18, leading=23, **bold),
            "contents": style("contents", spaceAfter=1),
            "h2": style("h2", fontSize=12.5, leading=17, spaceBefore=20, spaceAfter=6, textColor=ACCENT, **bold),
            "h3": style("h3", fontSize=9.5, leading=13, spaceBefore=9, **bold),
            "cell": style("cell", fontSize=7.2, leading=9.6, spaceAfter=0, splitLongWords=1),
            "right": style("right", fontSize=7.2, leading=9.6, spaceAfter=0, alignment=2),
            "head": style("head", fontSize=7.2, leading=9.6, spaceAfter=0, textColor="#5b6676", **bold),
            "head right": style(
                "head right", fontSize=7.2, leading=9.6, spaceAfter=0, textColor="#5b6676", alignment=2, **bold
            ),
            "code": style(
                "code", fontName="DejaVuSansMono", fontSize=6.8, leading=9.4, backColor=WASH, borderPadding=5,
                leftIndent=5, spaceBefore=6, spaceAfter=10, splitLongWords=1,
            ),
        }  # fmt: skip

    def section(self, at: int, section: Section) -> list[Any]:
        from reportlab.platypus import KeepTogether, Paragraph

        title = f'<a name="{section.key}"/>{at}&nbsp;&nbsp;{escape(section.title)}'
        made: list[Any] = [Paragraph(title, self.styles["h2"])]
        made[0].keepWithNext = True
        for block in section.blocks:
            found = self.block(block)
            if isinstance(block, Picture):
                # Headings stay with what they head; the layout does not see to that before pictures.
                above = [made.pop()] if getattr(made[-1], "keepWithNext", False) else []
                found = [KeepTogether([*above, *found])]
            made += found
        return made

    def block(self, block: Block) -> list[Any]:
        from reportlab.platypus import Paragraph, Spacer

        if isinstance(block, Text):
            return [Paragraph(_safe(block.text), self.styles[block.style])]
        if isinstance(block, Heading):
            made = Paragraph(_safe(block.text), self.styles["h3"])
            made.keepWithNext = True
            return [made]
        if isinstance(block, Grid):
            return [self.table(block), Spacer(1, 8)] if block.rows else []
        if isinstance(block, Picture):
            return self.picture(block)
        if isinstance(block, Code):
            # A paragraph a line, so that a long recipe can go on on the next page.
            lines = [
                _safe(line).replace(" ", "&nbsp;") or "&nbsp;" for line in block.text.rstrip("\n").split("\n")
            ]
            return [
                Paragraph("<br/>".join(lines[at : at + 40]), self.styles["code"])
                for at in range(0, len(lines), 40)
            ]
        return [self.signatures(block)]

    def table(self, block: Grid) -> Any:
        from reportlab.platypus import LongTable, Paragraph

        def cell(each: str | Cell, column: int) -> Any:
            text = each if isinstance(each, str) else each.text
            shown = _safe(text)
            if isinstance(each, Cell) and each.mark:
                shown = f'<font name="DejaVuSans-Bold" color="{GOOD if each.mark == "good" else BAD}">{shown}</font>'
            return Paragraph(shown, self.styles["right" if column in block.right else "cell"])

        rows = [[cell(each, at) for at, each in enumerate(row)] for row in block.rows]
        head = any(block.headings)
        if head:
            styles = [
                self.styles["head right" if at in block.right else "head"]
                for at in range(len(block.headings))
            ]
            rows.insert(
                0, [Paragraph(_safe(text), style) for text, style in zip(block.headings, styles, strict=True)]
            )
        made = LongTable(rows, colWidths=self.widths(block), repeatRows=1 if head else 0, hAlign="LEFT")
        made.setStyle(
            [
                ("VALIGN", (0, 0), (-1, -1), "TOP"),
                ("LINEBELOW", (0, 0), (-1, -1), 0.4, LINE),
                ("LEFTPADDING", (0, 0), (-1, -1), 2),
                ("RIGHTPADDING", (0, 0), (-1, -1), 6),
                ("TOPPADDING", (0, 0), (-1, -1), 2),
                ("BOTTOMPADDING", (0, 0), (-1, -1), 2.5),
            ]
        )
        return made

    def widths(self, block: Grid) -> list[float]:
        """Give each column room for its longest word, and share out the rest by what the columns would like."""
        from reportlab.pdfbase.pdfmetrics import stringWidth

        size = self.styles["cell"].fontSize
        least, wanted = [], []
        for column, heading in enumerate(block.headings):
            cells = [row[column] for row in block.rows]
            fonts = [(heading, "DejaVuSans-Bold")]
            for each in cells:
                plain = isinstance(each, str) or not each.mark
                text = each if isinstance(each, str) else each.text
                fonts.append((text, "DejaVuSans" if plain else "DejaVuSans-Bold"))
            words = [stringWidth(word, font, size) for text, font in fonts for word in text.split()]
            whole = [stringWidth(text, font, size) for text, font in fonts]
            least.append(min(110.0, max(words, default=0.0)) + 10.0)
            wanted.append(min(300.0, max(whole)) + 10.0)
        more = [max(0.0, high - low) for low, high in zip(least, wanted, strict=True)]
        share = min(1.0, max(0.0, self.width - sum(least)) / sum(more)) if sum(more) else 0.0
        sizes = [low + share * extra for low, extra in zip(least, more, strict=True)]
        return [each * min(1.0, self.width / sum(sizes)) for each in sizes]

    def picture(self, wanted: Picture) -> list[Any]:
        from reportlab.platypus import Image, Paragraph, Spacer

        data, width, height = picture(self.facts, wanted, "png")
        scale = min(1.0, self.width / (72 * width), 620 / (72 * height))
        image = Image(BytesIO(data), 72 * width * scale, 72 * height * scale, hAlign="LEFT")
        caption = Paragraph(_safe(wanted.caption), self.styles["note"])
        return [Spacer(1, 6), image, caption, Spacer(1, 6)]

    def signatures(self, block: Signatures) -> Any:
        from reportlab.platypus import KeepTogether, Paragraph, Spacer, Table

        def line(text: str) -> Any:
            return Paragraph(text, self.styles["note"])

        columns = [
            [Paragraph(f"<b>{_safe(person)}</b>", self.styles["head"]), Spacer(1, 26), line("Name and function"),
             Spacer(1, 26), line("Date and signature")]
            for person in block.people
        ]  # fmt: skip
        rows = [list(row) for row in zip(*columns, strict=True)]
        made = Table(rows, colWidths=[self.width / len(columns) - 8] * len(columns), hAlign="LEFT")
        made.setStyle(
            [
                ("LINEBELOW", (0, 1), (-1, 1), 0.6, INK),
                ("LINEBELOW", (0, 3), (-1, 3), 0.6, INK),
                ("LEFTPADDING", (0, 0), (-1, -1), 2),
            ]
        )
        return KeepTogether([Spacer(1, 6), made])


def _safe(text: str) -> str:
    """Return text that ReportLab prints as it is: no markup, nothing that cannot be printed."""
    plain = "".join(
        each if each.isprintable() or each == "\n" else "\N{REPLACEMENT CHARACTER}" for each in text
    )
    return escape(plain)
