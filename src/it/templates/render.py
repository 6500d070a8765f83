"""Renders templates with Jinja as transformers does: python3 render.py FOLDER, which has templates.json and chats.json, and gets jinja.json."""

import datetime
import json
import pathlib
import sys

from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("rendered"), [], [], body).set_lineno(line)

    def rendered(self, caller):
        return caller()


class Raised(Exception):
    pass


def raise_exception(message):
    raise Raised(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


environment = ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
)
environment.filters["tojson"] = tojson
environment.globals["raise_exception"] = raise_exception
environment.globals["strftime_now"] = datetime.datetime(2026, 3, 5, 14, 7, 9).strftime


def main(folder):
    templates = json.loads((folder / "templates.json").read_text())
    chats = (folder / "chats.json").read_text()
    results = {}
    for name, jinja in templates.items():
        results[name] = {}
        for chat, variables in json.loads(chats).items():
            try:
                result = {"text": environment.from_string(jinja).render(**variables)}
            except Raised as raised:
                result = {"raised": str(raised)}
            except Exception as error:
                result = {"error": repr(error)}
            results[name][chat] = result
    (folder / "jinja.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
