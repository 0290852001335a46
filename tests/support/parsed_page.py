"""An HTML page as the standard library's parser reads it: its elements, its texts, and what is wrong with its nesting."""

from html.parser import HTMLParser

VOID = {"meta"}


class ParsedPage(HTMLParser):
    """`elements` are (name, attributes) in order; `texts` are what a reader sees; `blocks` what stands in script and style."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.blocks: list[str] = []
        self.comments: list[str] = []
        self.faults: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        self.faults += [f"<{name}> is never closed" for name in self._open]

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            self.faults.append(f"<{tag}> says something twice: {names}")
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self._open or self._open[-1] != tag:
            self.faults.append(f"</{tag}> where {self._open[-1:]} is open, line {self.getpos()}")
        else:
            self._open.pop()

    def handle_data(self, data):
        inside = self._open[-1] if self._open else ""
        (self.blocks if inside in {"script", "style"} else self.texts).append(data)

    def handle_comment(self, data):
        self.comments.append(data)

    def named(self, name):
        return [attributes for tag, attributes in self.elements if tag == name]

    @property
    def ids(self):
        return [attributes["id"] for _, attributes in self.elements if attributes.get("id")]
