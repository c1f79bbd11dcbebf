"""A plot as SVG that stands inside a page."""

from io import StringIO

from matplotlib.figure import Figure


def svg_of(figure: Figure) -> str:
    """The same plot gives the same text: without the date, and without the XML head."""
    file = StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    text = file.getvalue()
    return text[text.index("<svg") :]
