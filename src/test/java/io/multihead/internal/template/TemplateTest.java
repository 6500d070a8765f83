package io.multihead.internal.template;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.multihead.support.CpuTime;
import io.multihead.text.PromptText;
import java.io.IOException;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The template interpreter is compared with Jinja. Other tests check the origin of each character, and refused
 * templates.
 */
@Execution(ExecutionMode.CONCURRENT)
class TemplateTest {
    private static final Path GOLDEN = Path.of("src/test/resources/golden/templates.json");
    private static final LocalDateTime TIME = LocalDateTime.of(2026, 3, 5, 14, 7, 9);

    /** Small templates have the same output as in Jinja ({@code src/it/templates/golden.py}). */
    @Test
    void textsAreThoseOfJinja() throws IOException {
        JsonNode golden = new ObjectMapper().readTree(GOLDEN.toFile());
        Map<String, Object> variables =
                new ObjectMapper().convertValue(golden.get("variables"), new TypeReference<>() {});
        List<String> wrong = new ArrayList<>();
        int cases = 0;
        for (JsonNode each : golden.get("cases")) {
            String template = each.get("template").asText();
            String result = rendered(template, variables);
            String expected = each.has("text")
                    ? "text " + each.get("text").asText()
                    : each.has("raised") ? "raised " + each.get("raised").asText() : "refused";
            if (!result.equals(expected) && !(expected.equals("refused") && result.startsWith("refused line "))) {
                wrong.add(template + ": " + result + ", expected " + expected);
            }
            cases++;
        }
        assertEquals(List.of(), wrong);
        assertTrue(cases > 200, cases + " cases");
    }

    private static String rendered(String template, Map<String, Object> variables) {
        try {
            return "text " + Template.parse(template).render(variables, TIME);
        } catch (RaisedException raised) {
            return "raised " + raised.getMessage();
        } catch (IllegalArgumentException refused) {
            return "refused " + refused.getMessage();
        }
    }

    /** Renders a template and puts the characters of content in brackets. */
    private static String marked(String template, Object value) {
        Map<String, Object> variables = new LinkedHashMap<>();
        variables.put("x", value);
        PromptText text = Template.parse(template).render(variables, TIME);
        StringBuilder marked = new StringBuilder();
        for (int i = 0; i < text.length(); i++) {
            boolean before = i > 0 && text.isContent(i - 1);
            marked.append(text.isContent(i) && !before ? "[" : !text.isContent(i) && before ? "]" : "");
            marked.append(text.toString().charAt(i));
        }
        return marked + (text.length() > 0 && text.isContent(text.length() - 1) ? "]" : "");
    }

    @ParameterizedTest
    @CsvSource(
            delimiterString = " => ",
            quoteCharacter = '\u00a7',
            value = {
                "<{{ x }}> => <[a-B b]>",
                "{{ '<' + x + '>' }} => <[a-B b]>",
                "{{ '<' ~ x }} => <[a-B b]",
                "{{ x * 2 }} => [a-B ba-B b]",
                "{{ x | upper }}! => [A-B B]!",
                "{{ (x ~ 'y') | upper }} => [A-B B]Y",
                "{{ x | title }} => [A-B B]",
                "{{ x.title() }} => [A-B B]",
                "{{ x | capitalize }} => [A-b b]",
                "{{ (' ' ~ x ~ ' ') | trim }} => [a-B b]",
                "{{ x[0] }}{{ x[1:3] }}{{ x[::-1] }} => [a-Bb B-a]",
                "{{ x | replace('-', '+') }} => [a]+[B b]",
                "{{ 'p-q' | replace('-', x) }} => p[a-B b]q",
                "{{ x.split('-') }} => ['[a]', '[B b]']",
                "{{ x.split('-')[1] }} => [B b]",
                "{{ x.split() | join('/') }} => [a-B]/[b]",
                "{{ x | tojson }} => \"[a-B b]\"",
                "{{ {'k': x} | tojson }} => {\"k\": \"[a-B b]\"}",
                "{{ {x: 1} | tojson }} => {\"[a-B b]\": 1}",
                "{{ {x: 1} | items | list }} => [('[a-B b]', 1)]",
                "{{ {x: 1} }} => {'[a-B b]': 1}",
                "{{ [x] | map('lower') | join }} => [a-b b]",
                "{% for c in x %}{{ c }},{% endfor %} => [a],[-],[B],[ ],[b],",
                "{% set y %}<{{ x }}>{% endset %}{{ y[1:-1] }} => [a-B b]",
                "{% macro m(v) %}<{{ v }}>{% endmacro %}{{ m(x) }} => <[a-B b]>",
                "{% filter upper %}y{{ x }}{% endfilter %} => Y[A-B B]",
                "{{ x | reverse }} => [b B-a]",
                "{{ x if x == 'a-B b' }} => [a-B b]",
                "{{ [x, 'a-B b'] | unique | first }} => [a-B b]",
                "{{ x | default('y') }}{{ 'y' | default(x) }} => [a-B b]y",
                "{{ x | indent }}{{ x.strip('a') }}{{ x.removeprefix('a-') }} => [a-B b-B bB b]",
                "{{ x | length }} => 5"
            })
    void itIsKnownWhoWroteACharacter(String template, String expected) {
        assertEquals(expected, marked(template, "a-B b"));
    }

    @Test
    void promptTextsAreWhatTheySay() {
        assertEquals("<a>[b]", marked("{{ x.t }}{{ x.c }}", Map.of("t", PromptText.template("<a>"), "c", "b")));
        PromptText escaped = Template.parse("{{ x | tojson }}{{ [x] }}").render(Map.of("x", "\"\n"), TIME);
        assertEquals("\"\\\"\\n\"['\"\\n']", escaped.toString());
        assertTrue(escaped.isContent(1) && escaped.isContent(4) && !escaped.isContent(0) && !escaped.isContent(5));
    }

    @ParameterizedTest
    @CsvSource(
            delimiterString = " => ",
            quoteCharacter = '\u00a7',
            value = {
                "{% include 'x' %} => line 1: statement include is not implemented",
                "a\\n\\n{{ x | groupby('a') }} => line 3: filter groupby is not implemented",
                "{% if false %}\\n{{ x | xmlattr }}{% endif %} => line 2: filter xmlattr is not implemented",
                "{{ x is sameas y }} => line 1: test sameas is not implemented",
                "{{ x.format(1) }} => line 1: method format is not implemented",
                "{{ lipsum() }} => line 1: function lipsum is not implemented",
                "{{ x | tojson(compact=true) }} => line 1: tojson with an argument compact; expected ensure_ascii?, indent?, separators?, sort_keys?",
                "{{ x | replace('a') }} => line 1: replace with 1 arguments; expected old, new, count?",
                "{{ x | map('batch') }} => line 1: filter batch is not implemented",
                "{{ x | select('sameas', 1) }} => line 1: test sameas is not implemented",
                "{% for a in b recursive %}{% endfor %} => line 1: a recursive loop is not implemented",
                "{% for a in b %}{{ loop.cycle('a') }}{% endfor %} => line 1: loop.cycle is not implemented",
                "{% for a in b %}{{ loop.depth }}{% endfor %} => line 1: loop.depth is not implemented",
                "{% macro m() %}{{ caller() }}{% endmacro %} => line 1: \"caller\" is not implemented",
                "{{ f(*x) }} => line 1: * before an argument is not implemented",
                "{% if x %}a => line 1: the template ends; expected",
                "{% endif %} => line 1: statement endif is not implemented",
                "{{ x => line 1: a tag without }}",
                "{{ x + }} => line 1: }}; expected an expression",
                "{{ 'x }} => line 1: a string without its end",
                "{# x => line 1: a comment without #}",
                "{{ x ? y }} => line 1: \"?\" in a tag; expected an expression",
                "{{ 99999999999999999999 }} => line 1: integer 99999999999999999999; expected less than 2^63",
                "{% break %} => line 1: break outside of a loop"
            })
    void whatIsNotImplementedIsRefusedByName(String template, String message) {
        String jinja = template.replace("\\n", "\n");
        String actual = assertThrows(IllegalArgumentException.class, () -> Template.parse(jinja))
                .getMessage();
        assertTrue(actual.startsWith(message), actual);
    }

    @ParameterizedTest
    @CsvSource(
            delimiterString = " => ",
            quoteCharacter = '\u00a7',
            value = {
                "{{ 'a' + 1 }} => line 1: a string + an integer; expected two numbers, strings or lists",
                "a\\n{{ missing.role }} => line 2: missing is undefined",
                "{{ x.role.name }} => line 1: member role of a mapping is undefined",
                "{{ x.items }} => line 1: method items of a mapping without a call; expected [\"items\"] for a key",
                "{{ x.items() }} => line 1: a view is printed; expected a text, a number, a list or a mapping",
                "{% set a = [1] | select %}{{ a | list }}{{ a | list }} => line 1: the result of a filter is read twice; expected once, or |list",
                "{% set a, b = 1, 2, 3 %} => line 1: 3 values; expected 2",
                "{% set x.y = 1 %} => line 1: x.y is set; expected a namespace",
                "{{ 9223372036854775807 + 1 }} => line 1: 9223372036854775807 + 1; expected less than 2^63",
                "{{ 1 // 0 }} => line 1: a division by 0",
                "{{ strftime_now('%c') }} => line 1: strftime_now with %c is not implemented"
            })
    void whatAValueShowsIsAnErrorWithItsLine(String template, String message) {
        Template parsed = Template.parse(template.replace("\\n", "\n"));
        Map<String, Object> variables = Map.of("x", Map.of("k", "v"));
        assertEquals(
                message,
                assertThrows(IllegalArgumentException.class, () -> parsed.render(variables, TIME))
                        .getMessage());
    }

    /** Any template ends soon and takes little memory. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
                "{{ range(10000000000) | list }}",
                "{{ 'x' * 100000000000 }}",
                "{% set ns = namespace(s='ab') %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
                "{% set ns = namespace(s=[1]) %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
                "{% set ns = namespace(s=[1]) %}{% for i in range(9000) %}{% set ns.s = [ns.s] %}{% endfor %}{{ ns.s }}",
                "{% set ns = namespace(s='ab') %}{% for i in range(100) %}{% set ns.s = ns.s | replace('a', ns.s) %}{% endfor %}",
                "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
                "{% macro m(n) %}{{ m(n) }}{{ m(n) }}{% endmacro %}{{ m(1) }}",
                "{% set ns = namespace(s='a') %}{% for i in range(60) %}{% set ns.s = ns.s | tojson | tojson %}{% endfor %}",
                "{% for i in range(1000) %}{% for c in range(100000) | list %}{% endfor %}{% endfor %}",
                "{% set ns = namespace(s=[1]) %}{% for i in range(100) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s }}",
                "{% set ns = namespace(s=[1]) %}{% for i in range(100) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s | tojson }}",
                "{% set ns = namespace(s=[1], t=[1]) %}{% for i in range(100) %}{% set ns.s, ns.t = [ns.s, ns.s], [ns.t, ns.t] %}"
                        + "{% endfor %}{{ ns.s == ns.t }}",
                "{% set ns = namespace(s={'a': 1}) %}{% for i in range(60) %}{% set ns.s = {'a': ns.s, 'b': ns.s} %}{% endfor %}"
                        + "{{ ns.s | tojson(indent=90) }}",
                "{% set s = 'ab' * 4000000 %}{% set l = [s] * 2 if false else [s, s + 'a'] %}{% for i in range(100000) %}{{ '' if l[0] in l[1] }}"
                        + "{{ '' if l[0] < l[1] }}{% endfor %}",
                "{{ 7 ** 100000000000 }}"
            })
    void everyTemplateEnds(String template) throws Exception {
        Template parsed = Template.parse(template);
        String message = CpuTime.within(
                60, () -> assertThrows(IllegalArgumentException.class, () -> parsed.render(Map.of(), TIME))
                        .getMessage());
        assertTrue(message.startsWith("line 1: "), message);
    }

    @Test
    void nestingIsLimited() {
        assertThrows(IllegalArgumentException.class, () -> Template.parse("{{ " + "(".repeat(5_000)));
        assertThrows(IllegalArgumentException.class, () -> Template.parse("{{ " + "[".repeat(5_000)));
        assertThrows(IllegalArgumentException.class, () -> Template.parse("{% if x %}".repeat(5_000)));
        Template chain = Template.parse("{{ 1" + " + 1".repeat(5_000) + " }}");
        String message = assertThrows(IllegalArgumentException.class, () -> chain.render(Map.of(), TIME))
                .getMessage();
        assertEquals("line 1: nested deeper than 500; expected a template without endless recursion", message);
        Template nots = Template.parse("{{ " + "not ".repeat(5_000) + "x }}");
        assertThrows(IllegalArgumentException.class, () -> nots.render(Map.of(), TIME));
        Template dots = Template.parse("{{ x" + ".a".repeat(5_000) + " }}");
        assertThrows(IllegalArgumentException.class, () -> dots.render(Map.of(), TIME));
        String ifs = "{% if false %}{% endif %}".repeat(10_000);
        assertEquals("", Template.parse(ifs).render(Map.of(), TIME).toString());
    }

    /** A mutated template is read, or refused with an error. */
    @Test
    void anyMutationIsRefusedByName() throws IOException {
        JsonNode golden = new ObjectMapper().readTree(GOLDEN.toFile());
        Map<String, Object> variables =
                new ObjectMapper().convertValue(golden.get("variables"), new TypeReference<>() {});
        List<String> all = new ArrayList<>();
        golden.get("cases").forEach(each -> all.add(each.get("template").asText()));
        SplittableRandom random = new SplittableRandom(5);
        int read = 0;
        for (int run = 0; run < 20_000; run++) {
            StringBuilder text = new StringBuilder(all.get(random.nextInt(all.size())));
            for (int i = random.nextInt(4); i >= 0 && !text.isEmpty(); i--) {
                String other = all.get(random.nextInt(all.size()));
                int from = random.nextInt(text.length());
                int begin = random.nextInt(other.length());
                int end = begin + random.nextInt(Math.min(12, other.length() - begin) + 1);
                text.replace(from, Math.min(text.length(), from + random.nextInt(6)), other.substring(begin, end));
            }
            String result = rendered(text.toString(), variables);
            read += result.startsWith("text ") ? 1 : 0;
            assertTrue(!result.startsWith("refused ") || result.startsWith("refused line "), text + ": " + result);
        }
        assertTrue(read > 2000, read + " were read");
    }

    @Test
    void aTemplateIsSharedByThreads() {
        Template template =
                Template.parse("{% set ns = namespace(n=0) %}{% for i in range(n) %}{% set ns.n = ns.n + i %}"
                        + "{% endfor %}{{ ns.n }}");
        List<Integer> counts = java.util.stream.IntStream.range(0, 400).boxed().toList();
        counts.parallelStream()
                .forEach(count -> assertEquals(
                        String.valueOf(count * (count - 1) / 2),
                        template.render(Map.of("n", count), TIME).toString()));
    }
}
