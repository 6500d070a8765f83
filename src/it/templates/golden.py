"""Writes src/test/resources/golden/templates.json: what Jinja, with the settings of transformers, makes of small templates.

Run in the repository's root, with jinja2: python3 src/it/templates/golden.py
"""

import json
import pathlib

from render import Raised, environment

VARIABLES = {
    "s": "Hello, World",
    "padded": " \t\u00a0x y\n ",
    "mark": "<|im_end|>",
    "emoji": "a\U0001f642b\u00e9",
    "n": 7,
    "f": 2.5,
    "yes": True,
    "nothing": None,
    "numbers": [3, 1, 2],
    "words": ["b", "A", "c"],
    "map": {"b": 1, "a": [1, 2], "items": "key", "n": None},
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi!"},
        {"role": "assistant", "content": "Hello.", "tool_calls": [{"name": "f", "arguments": {"x": 1}}]},
        {"role": "user", "content": "Bye"},
    ],
}

EXPRESSIONS = """
1 + 2 * 3 - 4 // 3 % 2 ** 3
-n // 2
-n % 3
7 / 2
2 ** 10
2 ** -1
f * 2
f // 1
-f % 2
1e16
1.5e-7
0.1 + 0.2
100000000000000000000.0
"a" "b" + 'c'
"a" ~ 1 ~ none ~ true ~ f
"ab" * 3
[1] + [2, 'x']
(1, 2) + (3,)
not yes or n > 3 and n < 10
n in numbers
3 in numbers
'ell' in s
'b' in map
'zz' not in map
1 < 2 < 3
1 < 3 < 2
1 == 1.0
1 == true
'a' < 'b'
none == none
missing == other
yes if n else 2
'x' if not yes
[1, 'a\\'b', "it's", none, true, 1.0, {'k': 'v\\n'}]
(1,)
()
{}
map
map.b
map['a'][1]
map.a[-1]
map['items']
map.get('zz')
map.get('zz', 5)
map.zz
map.zz is defined
missing
missing | length
missing | default('d')
'' | default('d')
'' | default('d', true)
nothing | default('d')
s[0]
s[-1]
s[100]
s[1:4]
s[::-1]
s[:-2]
s[::2]
emoji | length
emoji[1]
emoji[::-1]
numbers[1:]
numbers[::-1]
numbers[5:1:-1]
s | upper
s | lower
s.upper() ~ s.lower() ~ s.title() ~ s.capitalize()
"they're bill's (friends) from-the UK" | title
"they're bill's friends".title()
"stra\\u00dfe" | upper
padded | trim
padded.strip() ~ '|'
padded.lstrip() ~ '|'
padded.rstrip() ~ '|'
'xxabxx'.strip('x')
'\\n\\na\\n'.lstrip('\\n')
'a,b,,c'.split(',')
'a b  c '.split()
'  a b  c '.split(none, 1)
'a,b,c'.split(',', 1)
'a,b,c'.rsplit(',', 1)
'a,b,c'.split(',')[-1]
'a\\nb\\r\\nc'.splitlines()
s.replace('l', 'L')
s.replace('l', 'L', 1)
s | replace('o', '0')
'abc'.replace('', '-')
s.startswith('He')
s.startswith(('x', 'He'))
s.endswith('d')
s.find('World')
s.count('l')
'12'.isdigit()
', '.join(words)
words | join(', ')
words | join
messages | join('|', attribute='role')
messages | map(attribute='role') | join(',')
words | map('upper') | list
messages | map(attribute='name', default='-') | list
messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | list
messages | rejectattr('role', '==', 'user') | list | length
messages | selectattr('tool_calls') | list | length
messages | selectattr('tool_calls', 'defined') | list | length
[1, 'a', 2] | select('string') | list
words | reject('in', ['b']) | list
numbers | select('odd') | list
nothing | selectattr('x') | list
numbers | sort
words | sort
words | sort(case_sensitive=true)
numbers | sort(reverse=true)
messages | sort(attribute='content') | map(attribute='content') | list
numbers | sum
numbers | max
numbers | min
numbers | first
numbers | last
[] | first
numbers | reverse | list
s | reverse
[1, 2, 1] | unique | list
map | items | list
map | dictsort
map | length
map | list
map.keys() | list
map.values() | list
map.items() | list
numbers | string
'12' | int + 1
'1.9' | int
'x' | int
'x' | int(5)
'2.5' | float
3.7 | int
-3 | abs
2.5 | round
3.5 | round
map | tojson
map | tojson(indent=2)
{} | tojson(indent=2)
map | tojson(separators=(',', ':'))
map | tojson(sort_keys=true)
emoji | tojson
emoji | tojson(ensure_ascii=true)
'a"\\\\\\n\\t\\x01/<' | tojson
[1, 2.5, true, none, 'x'] | tojson
1e20 | tojson
'a\\nb\\n\\nc' | indent(2)
'a\\nb\\n\\nc' | indent(2, true)
'a\\nb\\n\\nc' | indent(width=2, blank=true)
'a' is string and n is number and f is float and n is integer and yes is boolean
yes is number
map is mapping and numbers is sequence and numbers is iterable and s is iterable
nothing is none and missing is undefined and s is defined
n is odd and n is divisibleby 7
s is not none
'a' is in ['a']
n is eq 7
numbers is string
range(3) | list
range(1, 7, 2) | list
range(5, 0, -2) | list
dict(a=1, b='x')
mark ~ '<|im_end|>'
raise_exception('No ' ~ s)
strftime_now('%d %b %Y, %B %A %H:%M:%S %p %j %-d %y %%')
missing.attribute
missing + 'a'
'a' + 1
'a' < 1
nothing | length
messages[9].role
'a' | unknown_filter
none + 1
map | items | length
numbers | map('tojson') | join
"\\u4e2d\\U0001f642\\x41\\\\ \\q"
""".strip().split("\n")

TEMPLATES = [
    "a\n{% if yes %}\nb\n{% endif %}\nc\n",
    "a\n  {% if yes %}\n  b\n  {% endif %}\n  c",
    "a\n  {%+ if yes %}b{% endif +%}\nc",
    "a  {{- s -}}  b",
    "a\n\n{%- if yes -%}\n\nb\n\n{%- endif -%}\n\nc",
    "{# a comment #}\nx {# another -#}  y\n   {#- third #}\nz",
    "{{ s }}\n{{ s }}\n",
    "x\r\ny\rz",
    "{% raw %}{{ a }}{% b %}{% endraw %}!",
    "{% for x in numbers %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.revindex }}{{ loop.length }},{% endfor %}",
    "{% for x in numbers %}{{ loop.previtem if not loop.first }}<{{ x }}>{{ loop.nextitem if loop.nextitem is defined }}{% endfor %}",
    "{% for x in [] %}a{% else %}none{% endfor %}",
    "{% for x in numbers if x > 1 %}{{ loop.index }}:{{ x }} {% else %}none{% endfor %}",
    "{% for x in numbers if x > 9 %}{{ x }}{% else %}none{% endfor %}",
    "{% for k, v in map.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for k in map %}{{ k }}{% endfor %}",
    "{% for c in emoji %}[{{ c }}]{% endfor %}",
    "{% for x in numbers %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in numbers %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% for a in numbers %}{% for b in words %}{{ loop.index }}{{ b }}{% endfor %}{{ loop.index }}{% endfor %}",
    "{% set x = 1 %}{% for i in numbers %}{% set x = x + i %}{{ x }},{% endfor %}{{ x }}",
    "{% set ns = namespace(x=1) %}{% for i in numbers %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}",
    "{% if yes %}{% set x = 5 %}{% endif %}{{ x }}",
    "{% set a, b = 1, 'z' %}{{ b }}{{ a }}",
    "{% set x %}a{{ s }}{% endset %}[{{ x }}]",
    "{% set x | upper %}a{{ s }}{% endset %}[{{ x }}]",
    "{% filter upper | trim %} a{{ s }} {% endfilter %}!",
    "{% generation %}{{ s }}{% endgeneration %}!",
    "{% macro m(a, b=2, c=none) %}{{ a }}-{{ b }}-{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, c=3) }} {{ m(b='x', a='y') }} {{ m() }}",
    "{% macro f(k) %}{% if k > 0 %}{{ k }}{{ f(k - 1) }}{% endif %}{% endmacro %}{{ f(4) }}",
    "{% macro m() %}{{ x }}{% endmacro %}{% set x = 3 %}{{ m() }}",
    "{% set x = 1 %}{% macro m() %}{% set x = 2 %}{{ x }}{% endmacro %}{{ m() }}{{ x }}",
    "{% if n == 1 %}a{% elif n == 7 %}b{% elif yes %}c{% else %}d{% endif %}",
    "{% if missing %}a{% else %}b{% endif %}",
    "{% if numbers | select('odd') %}a{% endif %}",
    "{{ 'a' if yes else 'b', 1 }}",
    "{{ messages[0].content + '\\n' }}{{ messages[1:] | length }}{{ messages[-1]['content'] }}",
    "{% for m in messages[::-1] %}{{ m.role }}{% if 'tool_calls' in m %}{{ m.tool_calls[0].arguments | tojson }}{% endif %};{% endfor %}",
    "{% for m in messages %}{{ raise_exception('Roles: ' + m.role) if loop.index == 3 }}{% endfor %}",
    "{{ {'a': 1}['a'] }}{{ {'a': {'b': 2}}.a.b }}",
    "{{ (numbers | length > 2) and 'many' or 'few' }}",
    "{{ -3 | abs }}{{ not yes }}{{ not not yes }}",
    "{%- for message in messages %}\n    {%- if message.role == 'user' %}\n        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}\n    {%- endif %}\n{%- endfor %}",
    "{% set loop_messages = messages[1:] if messages[0].role == 'system' else messages %}{% for m in loop_messages %}{{ m.content }}{{ eos_token }}{% endfor %}",
]

cases = []
for template in ["{{ %s }}" % expression for expression in EXPRESSIONS] + TEMPLATES:
    case = {"template": template}
    try:
        case["text"] = environment.from_string(template).render(**json.loads(json.dumps(VARIABLES)))
    except Raised as raised:
        case["raised"] = str(raised)
    except Exception as error:
        case["error"] = type(error).__name__
    cases.append(case)
path = pathlib.Path("src/test/resources/golden/templates.json")
text = json.dumps({"variables": VARIABLES, "cases": cases}, ensure_ascii=False, indent=1)
path.write_text(text.replace("},\n  {", "},\n  {") + "\n")
