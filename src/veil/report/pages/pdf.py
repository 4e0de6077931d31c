"""The report as a PDF file, by ReportLab. Its font is DejaVu Sans, which comes with matplotlib."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from veil.errors import MissingDependencyError
from veil.report.pages import blocks as b
from veil.report.pages.blocks import Block, Cell, Section, TableBlock
from veil.report.pages.document import imprint, sections, title_of
from veil.report.pages.language import ENGLISH, Translator
from veil.report.pictures.by_name import scenes
from veil.report.pictures.shapes import Bar, Dot, Scene, Stroke, TextShape
from veil.report.texts import text

ACCENT, INK, LINE, WASH, GOOD, BAD = "#0b5c8f", "#1c2430", "#d9dee6", "#f4f7fa", "#17683f", "#b3261e"


def pdf(facts: dict[str, Any]) -> bytes:
    """Return the report as a PDF file."""
    return bind(sections(facts), facts, title=title_of(facts), words=Translator(facts["about"]["language"]))


def bind(
    chapters: Sequence[Section], facts: dict[str, Any], *, title: str, words: Translator = ENGLISH
) -> bytes:
    """Return sections as a PDF file, translated."""
    try:
        import matplotlib
        from reportlab.lib.pagesizes import A4
        from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer
    except ImportError:
        raise MissingDependencyError(
            "Reports as PDF need ReportLab and matplotlib. Install them with: pip install 'veil-anonymizer[report]'"
        ) from None
    _register(Path(matplotlib.get_data_path(), "fonts", "ttf"))
    title = words.of(title)
    chapters = words.of_sections(chapters)
    first = [each for each in chapters if each.part == "first"]
    others = [each for each in chapters if each.part != "first"]

    def lay_out(pages: dict[str, int]) -> tuple[bytes, dict[str, int]]:
        """Lay the report out with the pages on which sections begin, as far as known; also return them."""
        page, starts = _Page(facts, words), dict[str, int]()
        story: list[Any] = [
            Paragraph(_safe(title), page.styles["title"]),
            Paragraph(_safe(words.of(imprint(facts))), page.styles["note"]),
        ]
        for section in first:
            room = A4[1] - _MARGIN - _BOTTOM - 12 - _height(story, page.width)
            story += [*page.fitted(section.blocks, room), PageBreak()]
        story += [page.contents(others, pages), Spacer(1, 8)]
        for at, section in enumerate(others, 1):
            if section.part == "annex" and others[at - 2].part != "annex":
                story += [PageBreak(), Paragraph(_safe(words.of(text("page.annex"))), page.styles["title"])]
            story += page.section(at, section)
        file = BytesIO()
        document = SimpleDocTemplate(
            file, pagesize=A4, leftMargin=_MARGIN, rightMargin=_MARGIN, topMargin=_MARGIN, bottomMargin=_BOTTOM,
            title=title, author="", creator="Veil", producer="Veil", subject="", lang=words.language,
        )  # fmt: skip
        document.afterFlowable = lambda each: starts.setdefault(getattr(each, "begins", ""), document.page)
        document.build(story, canvasmaker=_numbered(title))
        return file.getvalue(), starts

    _, pages = lay_out({})
    return lay_out(pages)[0]


_MARGIN, _BOTTOM = 48, 52


def _height(flowables: Sequence[Any], width: float) -> float:
    """Return the total height of flowables."""
    high, below = 0.0, 0.0
    for each in flowables:
        high += max(below, each.getSpaceBefore()) + each.wrap(width, 10_000)[1]
        below = each.getSpaceAfter()
    return high


def _beginning(flowable: Any, width: float) -> float:
    """Return the height of the beginning of a table or a text: all of a short one, else a few lines."""
    high: float = flowable.wrap(width, 10_000)[1]
    rows = getattr(flowable, "_rowHeights", None)
    if rows:
        return float(sum(rows[:_FEW_ROWS])) if len(rows) > 2 * _FEW_ROWS else high
    return high if high < _SHORT_TEXT else 60.0


_FEW_ROWS = 5
"""Rows of a long table that stay together at its beginning."""

_SHORT_TEXT = 450.0
"""Height of a recipe that stays on one page."""


def _register(folder: Path) -> None:
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont

    registered = pdfmetrics.getRegisteredFontNames()
    for name in ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono"):
        if name not in registered:
            pdfmetrics.registerFont(TTFont(name, str(folder / f"{name}.ttf")))


def _numbered(title: str) -> Any:
    """Return a canvas that writes the page number and the number of pages."""
    from reportlab.pdfgen.canvas import Canvas

    class Numbered(Canvas):  # type: ignore[misc]
        """Keeps the pages until their number is known."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.finished_pages: list[dict[str, Any]] = []

        def showPage(self) -> None:
            self.finished_pages.append(dict(self.__dict__))
            self._startPage()

        def save(self) -> None:
            for page in self.finished_pages:
                self.__dict__.update(page)
                self.setFont("DejaVuSans", 7)
                self.setFillColor("#5b6676")
                self.drawString(_MARGIN + 6, 30, title)
                self.drawRightString(
                    self._pagesize[0] - _MARGIN - 6, 30, f"{self._pageNumber} / {len(self.finished_pages)}"
                )
                super().showPage()
            super().save()

    return Numbered


def _unfolded(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield blocks for print, with folded ones unfolded."""
    for block in blocks:
        if isinstance(block, b.Folded):
            yield b.Heading(block.title)
            yield from _unfolded(block.blocks)
        else:
            yield block


class _Page:
    """Turns blocks into flowables of ReportLab."""

    def __init__(self, facts: dict[str, Any], words: Translator) -> None:
        from reportlab.lib.pagesizes import A4
        from reportlab.lib.styles import ParagraphStyle

        self.facts, self.words, self.width = facts, words, A4[0] - 96 - 12
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
            "contents": style("contents", spaceAfter=0),
            "page": style("page", spaceAfter=0, alignment=2),
            "point": style("point", leftIndent=11, spaceAfter=2),
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
        from reportlab.platypus import CondPageBreak, KeepTogether, Paragraph

        title = f'<a name="{section.key}"/>{at}&nbsp;&nbsp;{escape(section.title)}'
        story: list[Any] = [Paragraph(title, self.styles["h2"])]
        story[0].keepWithNext, story[0].begins = True, section.key
        blocks = list(_unfolded(section.blocks))
        for block, below in zip(blocks, [*blocks[1:], None], strict=True):
            flowables = self.block(block)
            if (
                isinstance(block, b.Paragraph)
                and isinstance(below, TableBlock | b.Picture | b.Code | b.Paragraph)
                and getattr(story[-1], "keepWithNext", False)
            ):
                flowables[0].keepWithNext = True  # no heading with a single line at the end of a page
            if isinstance(block, b.Picture | TableBlock | b.Code) and flowables:
                # Headings stay with the first lines below them: a table need not be on one page.
                above: list[Any] = []
                while story and getattr(story[-1], "keepWithNext", False):
                    above.insert(0, story.pop())
                    above[0].keepWithNext = False
                if isinstance(block, b.Picture):
                    first, *others = self.picture(block)
                    flowables = [KeepTogether([*above, *first]), *map(KeepTogether, others)]
                else:
                    room = _height(above, self.width) + _beginning(flowables[0], self.width)
                    flowables = [CondPageBreak(room + 4), *above, *flowables]
            story += flowables
        return story

    def block(self, block: Block) -> list[Any]:
        from reportlab.platypus import Paragraph, Spacer

        if isinstance(block, b.Paragraph):
            return [Paragraph(_safe(block.text), self.styles[block.style])]
        if isinstance(block, b.Heading):
            heading = Paragraph(_safe(block.text), self.styles["h3"])
            heading.keepWithNext = True
            return [heading]
        if isinstance(block, TableBlock):
            return [self.table(block), Spacer(1, self.gap)] if block.rows else []
        if isinstance(block, b.Picture):
            return [each for group in self.picture(block) for each in group]
        if isinstance(block, b.Code):
            # Paragraphs of 40 lines, so that a long recipe can continue on the next page.
            lines = [
                _safe(line).replace(" ", "&nbsp;") or "&nbsp;" for line in block.text.rstrip("\n").split("\n")
            ]
            return [
                Paragraph("<br/>".join(lines[at : at + 40]), self.styles["code"])
                for at in range(0, len(lines), 40)
            ]
        if isinstance(block, b.Points):
            return [Paragraph(_safe(each), self.styles["point"], bulletText="–") for each in block.texts]
        if isinstance(block, b.Folded):
            return [each for part in _unfolded([block]) for each in self.block(part)]
        return [self.signatures(block)]

    def fitted(self, blocks: Sequence[Block], room: float) -> list[Any]:
        """Set the first page in the largest font that fits on one page."""
        flowables: list[Any] = []
        for size in (1.0, 0.96, 0.92, 0.88, 0.84, 0.8):
            flowables = self.smaller(blocks, size)
            if _height(flowables, self.width) <= room:
                break
        return flowables

    def smaller(self, blocks: Sequence[Block], size: float) -> list[Any]:
        styles = {name: copy.copy(each) for name, each in self.styles.items()}
        for style in styles.values():
            style.fontSize, style.leading = style.fontSize * size, style.leading * size * 0.97
            style.spaceBefore, style.spaceAfter = style.spaceBefore * size, style.spaceAfter * size * 0.7
        self.styles, self.gap, original_styles = styles, 5.0 * size, self.styles
        flowables = [each for block in blocks for each in self.block(block)]
        self.styles, self.gap = original_styles, 8.0
        return flowables

    def contents(self, sections: Sequence[Section], pages: dict[str, int]) -> Any:
        """List the sections with their pages."""
        from reportlab.platypus import Paragraph, Table

        def link(section: Section, text: str) -> Any:
            return Paragraph(f'<a href="#{section.key}" color="{ACCENT}">{text}</a>', self.styles["contents"])

        rows = [
            [
                link(each, f"{at}&nbsp;&nbsp;{escape(each.title)}"),
                Paragraph(str(pages.get(each.key, "")), self.styles["page"]),
            ]
            for at, each in enumerate(sections, 1)
        ]
        table = Table(rows, colWidths=[self.width - 40, 40], hAlign="LEFT")
        table.setStyle(
            [
                ("LEFTPADDING", (0, 0), (-1, -1), 0),
                ("TOPPADDING", (0, 0), (-1, -1), 1),
                ("BOTTOMPADDING", (0, 0), (-1, -1), 1),
            ]
        )
        return table

    gap = 8.0
    """Room below a table."""

    def table(self, block: TableBlock) -> Any:
        from reportlab.platypus import LongTable, Paragraph

        widths, size = self.widths(block)
        small = {name: copy.copy(self.styles[name]) for name in ("cell", "right", "head", "head right")}
        for style in small.values():
            style.fontSize, style.leading = style.fontSize * size, style.leading * size

        def cell(each: str | Cell, column: int) -> Any:
            text = each if isinstance(each, str) else each.text
            markup = _safe(text)
            if isinstance(each, Cell) and each.mark:
                markup = f'<font name="DejaVuSans-Bold" color="{GOOD if each.mark == "good" else BAD}">{markup}</font>'
            return Paragraph(markup, small["right" if column in block.right else "cell"])

        rows = [[cell(each, at) for at, each in enumerate(row)] for row in block.rows]
        head = any(block.headings)
        if head:
            styles = [
                small["head right" if at in block.right else "head"] for at in range(len(block.headings))
            ]
            rows.insert(
                0, [Paragraph(_safe(text), style) for text, style in zip(block.headings, styles, strict=True)]
            )
        grid = LongTable(rows, colWidths=widths, repeatRows=1 if head else 0, hAlign="LEFT")
        grid.setStyle(
            [
                ("VALIGN", (0, 0), (-1, -1), "TOP"),
                ("LINEBELOW", (0, 0), (-1, -1), 0.4, LINE),
                ("LEFTPADDING", (0, 0), (-1, -1), 2),
                ("RIGHTPADDING", (0, 0), (-1, -1), 6),
                ("TOPPADDING", (0, 0), (-1, -1), 2),
                ("BOTTOMPADDING", (0, 0), (-1, -1), 2.5),
            ]
        )
        return grid

    def widths(self, block: TableBlock) -> tuple[list[float], float]:
        """Return the widths of columns: their longest words, and a share of the rest by preferred width.

        Also return the scale of the font: smaller where the longest words would not fit otherwise.
        """
        if not any(block.headings):  # lists of facts have the same widths everywhere
            return [self.width * 0.3, self.width * 0.7], 1.0
        for smaller in (1.0, 0.94, 0.88, 0.82, 0.76):
            least, preferred = self.preferred_widths(block, smaller)
            if sum(least) <= self.width:
                break
        more = [max(0.0, high - low) for low, high in zip(least, preferred, strict=True)]
        share = min(1.0, max(0.0, self.width - sum(least)) / sum(more)) if sum(more) else 0.0
        sizes = [low + share * extra for low, extra in zip(least, more, strict=True)]
        return [each * self.width / sum(sizes) for each in sizes], smaller

    def preferred_widths(self, block: TableBlock, smaller: float) -> tuple[list[float], list[float]]:
        """Return the least and the preferred widths of the columns of a table."""
        from reportlab.pdfbase.pdfmetrics import stringWidth

        size = self.styles["cell"].fontSize * smaller
        least, preferred = [], []
        for column, heading in enumerate(block.headings):
            cells = [row[column] for row in block.rows]
            fonts = [(heading, "DejaVuSans-Bold")]
            for each in cells:
                plain = isinstance(each, str) or not each.mark
                text = each if isinstance(each, str) else each.text
                fonts.append((text, "DejaVuSans" if plain else "DejaVuSans-Bold"))
            words = [stringWidth(word, font, size) for text, font in fonts for word in text.split(" ")]
            whole = [stringWidth(text, font, size) for text, font in fonts]
            least.append(min(130.0, max(words, default=0.0)) + 9.0)
            preferred.append(min(300.0, max(whole)) + 9.0)
        return least, preferred

    def picture(self, block: b.Picture) -> list[list[Any]]:
        """Set pictures two in a row, and return groups to keep together: rows, the last with the caption."""
        from reportlab.platypus import Paragraph, Spacer, Table

        drawings = [
            _flowable(self.words.of_scene(each), self.width / 2 - 12) for each in scenes(self.facts, block)
        ]
        rows = [[*drawings[at : at + 2], ""][:2] for at in range(0, len(drawings), 2)]
        caption = Paragraph(_safe(block.caption), self.styles["note"])
        tables = [Table([row], colWidths=[self.width / 2] * 2, hAlign="LEFT") for row in rows]
        for each in tables:
            each.setStyle([("VALIGN", (0, 0), (-1, -1), "TOP"), ("LEFTPADDING", (0, 0), (-1, -1), 0)])
        groups: list[list[Any]] = [[each] for each in tables] or [[]]
        groups[0].insert(0, Spacer(1, 6))
        groups[-1] += [caption, Spacer(1, 6)]
        return groups

    def signatures(self, block: b.Signatures) -> Any:
        from reportlab.platypus import Paragraph, Spacer, Table

        def line(text: str) -> Any:
            return Paragraph(text, self.styles["note"])

        room = 22
        columns = [
            [
                Paragraph(f"<b>{_safe(role)}</b>", self.styles["head"]),
                Paragraph(_safe(name or "") or "&nbsp;", self.styles["plain"]),
                line(self.words.of(text("page.name_and_function"))),
                Spacer(1, room),
                line(self.words.of(text("page.date_and_signature"))),
            ]
            for role, name in block.people
        ]
        rows = [list(row) for row in zip(*columns, strict=True)]
        apart = 24
        wide = (self.width - apart * (len(columns) - 1)) / len(columns)
        rows = [[each for cell in row for each in (cell, "")][:-1] for row in rows]
        table = Table(rows, colWidths=([wide, apart] * len(columns))[:-1], hAlign="LEFT", spaceBefore=4)
        lines = [
            ("LINEBELOW", (2 * at, row), (2 * at, row), 0.6, INK)
            for at in range(len(columns))
            for row in (1, 3)
        ]
        tight = [("TOPPADDING", (0, 0), (-1, -1), 1), ("BOTTOMPADDING", (0, 0), (-1, -1), 1)]
        table.setStyle([*lines, *tight, ("LEFTPADDING", (0, 0), (-1, -1), 2)])
        return table


def _flowable(scene: Scene, width: float) -> Any:
    """Return a picture as a flowable, not larger than its size on a page."""
    from reportlab.platypus import Flowable

    scale = min(0.75, width / scene.width)

    class Drawing(Flowable):  # type: ignore[misc]
        """Shapes on a canvas, whose y grows upwards."""

        def wrap(self, *_: float) -> tuple[float, float]:
            return scene.width * scale, scene.height * scale

        def draw(self) -> None:
            self.canv.scale(scale, scale)
            for shape in scene.shapes:
                _draw(self.canv, shape, scene.height)

    return Drawing()


def _draw(canvas: Any, shape: Any, height: float) -> None:
    if isinstance(shape, Bar):
        canvas.setFillColor(shape.colour)
        canvas.rect(
            shape.x, height - shape.y - shape.height, max(0.0, shape.width), shape.height, stroke=0, fill=1
        )
    elif isinstance(shape, Stroke):
        canvas.setStrokeColor(shape.colour)
        canvas.setLineWidth(shape.width)
        for (x, y), (to_x, to_y) in itertools.pairwise(shape.points):
            canvas.line(x, height - y, to_x, height - to_y)
    elif isinstance(shape, Dot):
        canvas.setStrokeColor(shape.colour)
        canvas.setFillColor(shape.colour)
        canvas.setLineWidth(1.8)
        canvas.circle(
            shape.x, height - shape.y, shape.radius, stroke=int(shape.ring), fill=int(not shape.ring)
        )
    else:
        _write(canvas, shape, height)


def _write(canvas: Any, label: TextShape, height: float) -> None:
    canvas.saveState()
    canvas.translate(label.x, height - label.y)
    if label.turned:
        canvas.rotate(90)
    canvas.setFillColor(label.colour)
    # DejaVu's letters are wider than those of a page.
    canvas.setFont("DejaVuSans-Bold" if label.bold else "DejaVuSans", label.size * 0.9)
    text = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in label.text)
    draw = {"start": canvas.drawString, "middle": canvas.drawCentredString, "end": canvas.drawRightString}
    draw[label.anchor](0, 0, text)
    canvas.restoreState()


def _safe(text: str) -> str:
    """Escape a text for ReportLab: no markup, no unprintable characters."""
    plain = "".join(
        each if each.isprintable() or each in "\n\u00a0" else "\N{REPLACEMENT CHARACTER}" for each in text
    )
    return escape(plain)
