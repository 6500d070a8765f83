package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.support.CpuTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Parses answers that arrive in chunks. For any chunks, the parts equal the parts of the whole answer, and no text is lost. */
class AnswerParserTest {
    private static final ToolDefinition WEATHER = new ToolDefinition("weather", "", """
            {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}""");
    private static final List<ToolDefinition> TOOLS = List.of(WEATHER);
    private static final int DIVISIONS = 40;
    private static final int NONSENSE = 3000;
    private static final List<String> FRAGMENTS = List.of(
            "<think>",
            "</think>",
            "[THINK]",
            "<tool_call>",
            "</tool_call>",
            "\n",
            " ",
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"name\"",
            "\"weather\"",
            "\"arguments\"",
            "\"parameters\"",
            "{\"name\": \"weather\", \"arguments\": {\"a\": 1}}",
            "{\"name\": \"weather\", \"parameters\": {}}",
            "[TOOL_CALLS]",
            "[ARGS]",
            "weather",
            "{\"a\": \"\\u0041\"}",
            "\\",
            "<|tool_call|>",
            "<|/tool_call|>",
            "functools[",
            "<start_function_call>",
            "call:weather{",
            "<escape>",
            "<end_function_call>",
            "<function=weather>",
            "<parameter=city>",
            "</parameter>",
            "</function>",
            "<|channel|>",
            "analysis",
            "commentary to=functions.weather",
            "<|message|>",
            "<|end|>",
            "<|start|>assistant",
            "<|call|>",
            ";",
            "<|python_tag|>",
            "text",
            "<|START_ACTION|>",
            "{\"tool_call_id\": \"0\", \"tool_name\": \"weather\", \"parameters\": {}}",
            "<|END_ACTION|>",
            "<|START_RESPONSE|>",
            "<|END_RESPONSE|>",
            "<|START_THINKING|>",
            "<|END_THINKING|>",
            "<TOOLCALL>",
            "</TOOLCALL>",
            "<toolcall>",
            "</toolcall>",
            "<|tool_call_start|>",
            "<|tool_call_end|>",
            "weather(",
            "city='a\\'",
            ")",
            deepSeek("weather<SEP>{}"),
            deepSeek("function<SEP>weather\n```json\n{}\n```"),
            deepSeek("weather"),
            deepSeek(""),
            "<|tool_call>",
            "<tool_call|>",
            "<|\"|>",
            "<|channel>thought",
            "<channel|>",
            "\u00e9");

    /** The events of a listener, with parts of one kind concatenated. */
    private static final class Events implements AnswerListener {
        final List<String> all = new ArrayList<>();
        private String last = "";

        private void add(String kind, String part) {
            if (kind.equals(last)) {
                all.add(all.removeLast() + part);
            } else {
                all.add(kind + ": " + part);
            }
            last = kind;
        }

        @Override
        public void onText(String part) {
            assertTrue(!part.isEmpty());
            add("text", part);
        }

        @Override
        public void onReasoning(String part) {
            assertTrue(!part.isEmpty());
            add("thought", part);
        }

        @Override
        public void onCallPart(int index, String id, String name, String arguments) {
            add("part " + index + " " + name, arguments);
        }

        @Override
        public void onCall(int index, ToolCall call) {
            add("call " + index, call.name() + call.arguments());
            last = "";
        }

        @Override
        public void onBrokenCall(String text, String problem) {
            add("broken", text + " (" + problem + ")");
            last = "";
        }
    }

    private static AnswerFormat format(ToolCallFormat format, String promptEnd) {
        return AnswerFormat.of(new CallGrammars(() -> template(format)), TOOLS, promptEnd, 7);
    }

    /** Returns a template that writes calls in a format. */
    static ChatTemplate template(ToolCallFormat format) {
        String call =
                switch (format) {
                    case HERMES ->
                        "<tool_call>\n{{ '{' }}\"name\": \"{{ f.name }}\", \"arguments\": {{ f.arguments | tojson }}{{ '}' }}\n</tool_call>";
                    case QWEN_3_CODER ->
                        "<tool_call>\n<function={{ f.name }}>\n{% for k, v in f.arguments | items %}<parameter={{ k }}>\n{{ v }}\n</parameter>\n{% endfor %}</function>\n</tool_call>";
                    case LLAMA_3 ->
                        "{{ '{' }}\"name\": \"{{ f.name }}\", \"parameters\": {{ f.arguments | tojson }}{{ '}' }}";
                    case MISTRAL -> "[TOOL_CALLS] [{{ f | tojson }}]";
                    case MISTRAL_ARGS -> "[TOOL_CALLS]{{ f.name }}[ARGS]{{ f.arguments | tojson }}";
                    case PHI_4_MINI -> "<|tool_call|>[{{ f | tojson }}]<|/tool_call|>";
                    case GRANITE_3 -> "<|tool_call|>[{{ f | tojson }}]";
                    case FIREFUNCTION -> " functools[{{ f | tojson }}]";
                    case NEMOTRON -> "<TOOLCALL>[{{ f | tojson }}]</TOOLCALL>";
                    case NEMOTRON_MINI -> "<toolcall> {{ f | tojson }} </toolcall>";
                    case COGITO -> "[{{ f | tojson }}]";
                    case COMMAND ->
                        "<|START_ACTION|>[\n    {{ '{' }}\"tool_call_id\": \"0\", \"tool_name\": \"{{ f.name }}\", \"parameters\": {{ f.arguments | tojson }}{{ '}' }}\n]<|END_ACTION|>";
                    case LFM_2 ->
                        "<|tool_call_start|>[{{ f.name }}({% for k, v in f.arguments | items %}{{ k }}='{{ v }}'{% endfor %})]<|tool_call_end|>";
                    case DEEPSEEK -> deepSeek("function<SEP>{{ f.name }}\n```json\n{{ f.arguments | tojson }}\n```");
                    case DEEPSEEK_3_1 -> deepSeek("{{ f.name }}<SEP>{{ f.arguments | tojson }}");
                    case GEMMA_4 ->
                        "<|tool_call>call:{{ f.name }}{{ '{' }}{% for k, v in f.arguments | items %}{{ k }}:<|\"|>{{ v }}<|\"|>{% endfor %}{{ '}' }}<tool_call|>";
                    case FUNCTION_GEMMA ->
                        "<start_function_call>call:{{ f.name }}{{ '{' }}{% for k, v in f.arguments | items %}{{ k }}:<escape>{{ v }}<escape>{% endfor %}{{ '}' }}<end_function_call>";
                    case HARMONY ->
                        "<|start|>assistant to=functions.{{ f.name }}<|channel|>commentary json<|message|>{{ f.arguments | tojson }}<|call|>";
                };
        return ChatTemplate.of("{% for t in tools or [] %}{{ t | tojson }}{% endfor %}"
                + "{% for m in messages %}{{ m.role + ':' + (m.content or '') }}{% for c in m.tool_calls or [] %}"
                + "{% set f = c.function %}" + call + "{% endfor %}{% endfor %}");
    }

    private static String deepSeek(String... calls) {
        return ("<CALLS><CALL>" + String.join("</CALL>\n<CALL>", calls) + "</CALL></CALLS>")
                .replaceAll("<(CALLS?)>", "<\uff5ctool\u2581$1\u2581begin\uff5c>")
                .replaceAll("</(CALLS?)>", "<\uff5ctool\u2581$1\u2581end\uff5c>")
                .replace("<SEP>", "<\uff5ctool\u2581sep\uff5c>")
                .replace("CALL", "call")
                .replace("callS", "calls");
    }

    /** Returns answers in a format: plain answers, answers with thoughts or several calls, and truncated and malformed answers. */
    private static Stream<String> answers(ToolCallFormat format) {
        String json = "{\"city\": \"Be \\\"}] rn\", \"days\": 2}";
        String object = "{\"name\": \"weather\", \"arguments\": " + json + "}";
        String call =
                switch (format) {
                    case HERMES -> "<tool_call>\n" + object + "\n</tool_call>";
                    case QWEN_3_CODER ->
                        "<tool_call>\n<function=weather>\n<parameter=city>\nBern\n</parameter>\n<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>";
                    case LLAMA_3 -> object.replace("arguments", "parameters");
                    case MISTRAL -> "[TOOL_CALLS] [" + object + ", " + object + "]";
                    case MISTRAL_ARGS -> "[TOOL_CALLS]weather[ARGS]" + json;
                    case PHI_4_MINI -> "<|tool_call|>[" + object + ", " + object + "]<|/tool_call|>";
                    case GRANITE_3 -> "<|tool_call|>[" + object + ", " + object + "]";
                    case FIREFUNCTION -> " functools[" + object + ", " + object + "]";
                    case NEMOTRON -> "<TOOLCALL>[" + object + ", " + object + "]</TOOLCALL>";
                    case NEMOTRON_MINI -> "<toolcall> " + object + " </toolcall>";
                    case COGITO -> "[" + object + ", " + object + "]";
                    case COMMAND ->
                        "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"weather\", \"parameters\": "
                                + json + "}\n]<|END_ACTION|>";
                    case LFM_2 ->
                        "<|tool_call_start|>[weather(city=\"Be \\\"}] rn\", days=2), weather(more={'a': [True, None]})]<|tool_call_end|>";
                    case DEEPSEEK -> deepSeek("function<SEP>weather\n```json\n" + json + "\n```");
                    case DEEPSEEK_3_1 -> deepSeek("weather<SEP>" + json, "weather<SEP>" + json);
                    case GEMMA_4 ->
                        "<|tool_call>call:weather{city:<|\"|>Bern<|\"|>,days:2,more:[1,{a:true}]}<tool_call|>";
                    case FUNCTION_GEMMA ->
                        "<start_function_call>call:weather{city:<escape>Bern<escape>,days:2,more:[1,{a:true}]}<end_function_call>";
                    case HARMONY -> "<|channel|>commentary to=functions.weather <|constrain|>json<|message|>" + json;
                };
        String thought = format == ToolCallFormat.HARMONY
                ? "<|channel|>analysis<|message|>I look.<|end|><|start|>assistant"
                : "<think>\nI look.\n</think>\n\n";
        String text = format == ToolCallFormat.HARMONY
                ? "<|channel|>final<|message|>a < b [x] {y}.<|end|><|start|>assistant"
                : "a < b [x] {y}.\n";
        return Stream.of(
                "Hello.",
                call,
                thought + text,
                thought + call,
                text + call + "\n" + call,
                thought + text + call + text,
                call.replace("2", "x,"),
                call.replace("\"", ""),
                call.replace(":", ""),
                call.replace("2", "x,") + text + call,
                call.replace("}", "") + "\n" + call,
                "  \n",
                "<think>");
    }

    private static List<String> events(AnswerFormat format, List<String> pieces) {
        Events events = new Events();
        AnswerParser parser = format.parser(events);
        pieces.forEach(parser::add);
        parser.end();
        return events.all;
    }

    private static List<String> divided(String answer, SplittableRandom random) {
        List<String> pieces = new ArrayList<>();
        int at = 0;
        while (at < answer.length()) {
            int to = Math.min(answer.length(), at + random.nextInt(12));
            pieces.add(answer.substring(at, to));
            at = to;
        }
        return pieces;
    }

    @ParameterizedTest
    @EnumSource
    void anyDivisionHasThePartsOfTheWhole(ToolCallFormat calls) {
        SplittableRandom random = new SplittableRandom(5);
        AnswerFormat format = format(calls, "");
        assertEquals(calls, format.calls().orElseThrow());
        for (String answer : answers(calls).toList()) {
            for (int cut = 0; cut <= answer.length(); cut++) {
                String part = answer.substring(0, cut);
                List<String> whole = events(format, List.of(part));
                assertEquals(whole, events(format, part.isEmpty() ? List.of() : List.of(part.split(""))), part);
                assertEquals(whole, events(format, divided(part, random)), part);
            }
            List<String> whole = events(format, List.of(answer));
            for (int i = 0; i < DIVISIONS; i++) {
                assertEquals(whole, events(format, divided(answer, random)), answer);
            }
        }
    }

    /** The answer consists of fragments of calls in random order, which may or may not form whole calls. */
    @ParameterizedTest
    @EnumSource
    void anyDivisionOfNonsenseHasThePartsOfTheWhole(ToolCallFormat calls) {
        SplittableRandom random = new SplittableRandom(11);
        AnswerFormat format = format(calls, "");
        for (int i = 0; i < NONSENSE; i++) {
            StringBuilder answer = new StringBuilder();
            for (int count = random.nextInt(1, 14); count > 0; count--) {
                answer.append(FRAGMENTS.get(random.nextInt(FRAGMENTS.size())));
            }
            List<String> whole = events(format, List.of(answer.toString()));
            assertEquals(whole, events(format, List.of(answer.toString().split(""))), answer.toString());
            assertEquals(whole, events(format, divided(answer.toString(), random)), answer.toString());
        }
    }

    /** Text that is not a mark or white space appears in some part. */
    @ParameterizedTest
    @EnumSource
    void nothingIsLost(ToolCallFormat calls) {
        AnswerFormat format = format(calls, "");
        List<String> all = answers(calls).toList();
        assertEquals(List.of("text: Hello."), events(format, List.of(all.get(0))));
        List<String> one = events(format, List.of(all.get(1)));
        assertTrue(one.get(0).startsWith("part 0 weather: {"), one.toString());
        String arguments = one.get(0).substring("part 0 weather: ".length());
        assertEquals("call 0: weather" + arguments, one.get(1));
        assertTrue(arguments.contains("\"days\"") && arguments.contains("2"), arguments);
        assertEquals(List.of("thought: I look.", "text: a < b [x] {y}."), events(format, List.of(all.get(2))));
        List<String> cut =
                events(format, List.of(all.get(1).substring(0, all.get(1).length() * 2 / 3)));
        String expected = calls == ToolCallFormat.LLAMA_3 ? "text: " : "broken: ";
        assertTrue(cut.getLast().startsWith(expected), cut.toString());
        assertEquals(
                List.of("thought: I look."), events(format, List.of(all.get(3))).subList(0, 1));
    }

    @Test
    void whatMayBeAMarkWaitsAndAllElseComesAtOnce() {
        Events events = new Events();
        AnswerParser parser = format(ToolCallFormat.HERMES, "").parser(events);
        parser.add("<");
        assertEquals(List.of(), events.all);
        parser.add("b> a <tool");
        assertEquals(List.of("text: <b> a"), events.all);
        parser.add("box");
        assertEquals(List.of("text: <b> a <toolbox"), events.all);
        parser.add("<tool_call>{\"name\": \"weather\", \"arguments\": {\"ci");
        assertEquals(List.of("text: <b> a <toolbox", "part 0 weather: {\"ci"), events.all);
        parser.add("ty\": 1}}</tool_call>");
        assertEquals("call 0: weather{\"city\": 1}", events.all.getLast());
        ModelAnswer answer = parser.end();
        assertEquals(List.of(new ToolCall("call00068", "weather", "{\"city\": 1}")), answer.toolCalls());
        assertThrows(IllegalStateException.class, parser::end);
        assertThrows(IllegalStateException.class, () -> parser.add(""));
    }

    @Test
    void aThoughtThatThePromptBegan() {
        AnswerFormat format = format(ToolCallFormat.HERMES, "assistant\n<think>\n");
        assertEquals(
                List.of("thought: <tool_call> or not", "text: Yes."),
                events(format, List.of("<tool_call> or not</thi", "nk>\nYes.")));
        AnswerFormat other = format(ToolCallFormat.MISTRAL_ARGS, "");
        assertEquals(List.of("thought: a", "text: b"), events(other, List.of("[THINK]a[/THINK]b")));
    }

    @Test
    void textsOfXmlAreTexts() {
        AnswerFormat format = format(ToolCallFormat.QWEN_3_CODER, "");
        String call =
                "<tool_call>\n<function=weather>\n<parameter=city>\n12\n\"b\"\n</parameter>\n<parameter=days>\nTrue\n</parameter>\n</function>\n</tool_call>";
        assertEquals(
                "{\"city\":\"12\\u000a\\\"b\\\"\",\"days\":true}",
                format.parse(call).toolCalls().getFirst().arguments());
    }

    private static String xml(String... parameters) {
        return "<tool_call>\n<function=weather>\n" + String.join("", parameters) + "</function>\n</tool_call>";
    }

    /** Text that looks like another member, or like the end of a value, belongs to the value. */
    @Test
    void aValueOfXmlIsOneValue() {
        AnswerFormat format = format(ToolCallFormat.QWEN_3_CODER, "");
        String members = xml("<parameter=days>\n5, \"city\": \"x\"\n</parameter>\n");
        assertEquals(
                "{\"days\":\"5, \\\"city\\\": \\\"x\\\"\"}",
                format.parse(members).toolCalls().getFirst().arguments());
        String mark =
                xml("<parameter=city>\na</parameter>b\n</parameter>\n", "<parameter=days>\n[1, 2]\n</parameter>\n");
        assertEquals(
                "{\"city\":\"a</parameter>b\",\"days\":[1, 2]}",
                format.parse(mark).toolCalls().getFirst().arguments());
    }

    /** A value may have the type string and another type, or an unknown type. */
    @Test
    void aTextOfXmlMayBeginLikeJson() {
        ToolDefinition save = new ToolDefinition("save", "", """
                {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                 "b": {"type": ["string", "null"]}}}""");
        CallGrammars grammars = new CallGrammars(() -> template(ToolCallFormat.QWEN_3_CODER));
        AnswerFormat format = AnswerFormat.of(grammars, List.of(save), "", 7);
        for (String text : List.of("[draft", "{draft", "\"draft", "\"draft\" 2", "[1, 2] [", "[\"", "{\"a\":", "[1}")) {
            for (String other : List.of("x]", "x}", "x\"", "]", "]</b>", "[\"done\"]", "\"]\"")) {
                for (String line : List.of("\n", "")) {
                    String call =
                            "<tool_call>\n<function=save>\n<parameter=a>%s</parameter>\n<parameter=%s>%s</parameter>\n</function>\n</tool_call>";
                    String first = call.formatted(line + text + line, "b", line + other + line);
                    String second = call.formatted(line + other + line, "c", line + text + line);
                    String answer = first + "\n" + second;
                    List<String> whole = events(format, List.of(answer));
                    assertEquals(whole, events(format, List.of(answer.split(""))), answer);
                    assertEquals(
                            List.of(object("a", text, "b", other), object("a", other, "c", text)),
                            format.parse(answer).toolCalls().stream()
                                    .map(ToolCall::arguments)
                                    .toList(),
                            answer);
                }
            }
        }
    }

    private static String object(String name, String text, String otherName, String other) {
        return "{\"" + name + "\":" + json(text) + ",\"" + otherName + "\":" + json(other) + "}";
    }

    /** Returns a text as a value. If the text is JSON, it is the value, else it becomes a string. */
    private static String json(String text) {
        return List.of("[\"done\"]", "\"]\"").contains(text) ? text : "\"" + text.replace("\"", "\\\"") + "\"";
    }

    /** No value is complete JSON before the call ends. Each value is read only up to its first mark. */
    @Test
    void manyValuesOfXmlThatBeginLikeJsonTakeLinearTime() throws Exception {
        String[] parameters = new String[100_000];
        for (int i = 0; i < parameters.length; i++) {
            parameters[i] = "<parameter=a" + i + ">\n[draft\n</parameter>\n";
        }
        parameters[parameters.length - 1] = "<parameter=z>\n" + "]".repeat(parameters.length - 1) + "\n</parameter>\n";
        AnswerFormat format = format(ToolCallFormat.QWEN_3_CODER, "");
        ModelAnswer answer = CpuTime.within(60, () -> format.parse(xml(parameters)));
        assertTrue(answer.toolCalls().getFirst().arguments().startsWith("{\"a0\":\"[draft\",\"a1\":\"[draft\","));
    }

    /** An opening quote without a closing quote, or with one in a later message, does not hide messages. */
    @Test
    void aBrokenCallOfHarmonyEndsWithItsMark() {
        AnswerFormat format = format(ToolCallFormat.HARMONY, "");
        String head = "<|channel|>commentary to=functions.weather <|constrain|>json<|message|>";
        String broken = head + "{\"city\": \"Bern}";
        String next = "<|call|><|start|>assistant";
        String call = head + "{\"days\": 2}";
        for (String text : List.of("Hello.", "He\"llo.", "\"Hello.\"", "\\\"")) {
            for (String end : List.of("", "<|return|>", "<|end|>")) {
                String answer =
                        broken + next + call + next + broken + next + "<|channel|>final<|message|>" + text + end;
                List<String> whole = events(format, List.of(answer));
                assertEquals(whole, events(format, List.of(answer.split(""))), answer);
                assertEquals("text: " + text, whole.getLast());
                ModelAnswer parsed = format.parse(answer);
                assertEquals("{\"days\": 2}", parsed.toolCalls().getFirst().arguments());
                assertEquals(broken + "<|start|>assistant" + broken + text, parsed.content());
            }
        }
    }

    /** 60 parameters precede other text. Trying all ways to merge parameters would take years. */
    @Test
    void manyParametersThatAreNoCallAreReadOnce() {
        String[] parameters = new String[61];
        Arrays.fill(parameters, "<parameter=days>\n1\n</parameter>\n");
        parameters[60] = "else";
        String call = xml(parameters);
        assertEquals(
                new ModelAnswer("", call, List.of()),
                format(ToolCallFormat.QWEN_3_CODER, "").parse(call));
    }

    @Test
    void escapesInNamesOfMembersAreNoCall() {
        String call = "<tool_call>{\"n\\u0061me\": \"weather\", \"arguments\": {}}</tool_call>";
        assertEquals(
                new ModelAnswer("", call, List.of()),
                format(ToolCallFormat.HERMES, "").parse(call));
    }

    /** A model without a format for calls only writes thoughts and text. */
    @Test
    void withoutToolsNothingIsACall() {
        AnswerFormat none = AnswerFormat.of(new CallGrammars(() -> ChatTemplate.CHATML), List.of(), "", 1);
        assertEquals(new ModelAnswer("a", "{} <tool_call>", List.of()), none.parse("<think>a</think>{} <tool_call>"));
        IllegalArgumentException refused = assertThrows(
                IllegalArgumentException.class,
                () -> AnswerFormat.of(new CallGrammars(() -> ChatTemplate.CHATML), TOOLS, "", 1));
        assertTrue(refused.getMessage().startsWith("chat_template: no known format of tool calls"));
        assertThrows(IllegalArgumentException.class, () -> none.requiring(GenerationOptions.DEFAULT));
    }
}
