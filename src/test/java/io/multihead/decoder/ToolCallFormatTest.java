package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.text.PromptText;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the tool-call format that a template determines, and the parsing of calls in an answer. */
class ToolCallFormatTest {
    private static final String WEATHER = "{\"name\": \"weather\", \"arguments\": {\"city\": \"Bern\", \"days\": 2}}";
    private static final ToolCall CALL = new ToolCall("", "weather", "{\"city\": \"Bern\", \"days\": 2}");

    @Test
    void theFormatIsThatWhichTheTemplateWrites() {
        assertEquals(Optional.of(ToolCallFormat.HERMES), ToolCallFormat.of(ChatTemplate.QWEN_3));
        assertEquals(Optional.of(ToolCallFormat.HERMES), ToolCallFormat.of(ChatTemplate.QWEN_2_5));
        assertEquals(Optional.empty(), ToolCallFormat.of(ChatTemplate.CHATML));
        assertEquals(Optional.empty(), ToolCallFormat.of(ChatTemplate.of("{{ raise_exception('No.') }}")));
        String each = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}";
        String llama = each
                + "{{ '{\"name\": \"' + c.function.name + '\", \"parameters\": ' ~ c.function.arguments | tojson ~ '}' }}"
                + "{% endfor %}{% endfor %}";
        assertEquals(Optional.of(ToolCallFormat.LLAMA_3), ToolCallFormat.of(ChatTemplate.of(llama)));
        String mistral = each
                + "{{ '[TOOL_CALLS] [' if loop.first }}{{ c.function | tojson | replace('}}', '}, \"id\": \"' + c.id + '\"}') }}"
                + "{{ ']' if loop.last }}{% endfor %}{% endfor %}";
        assertEquals(Optional.of(ToolCallFormat.MISTRAL), ToolCallFormat.of(ChatTemplate.of(mistral)));
        assertEquals(
                Optional.of(ToolCallFormat.LLAMA_3),
                ToolCallFormat.of(ChatTemplate.of("{{ bos_token + '' }}" + llama)));
        String other = each + "<call:{{ c.function.name }}{{ c.function.arguments | tojson }}>{% endfor %}{% endfor %}";
        assertEquals(Optional.empty(), ToolCallFormat.of(ChatTemplate.of(other)));
    }

    /** Unknown text before a list or object of calls is a mark of another format. The same text before the content of a message is not. */
    @Test
    void jsonBehindAnUnknownMarkIsNoFormat() {
        String each =
                "{% for m in messages %}<a>{{ m.content }}{% for c in m.tool_calls or [] %}%s{% endfor %}{% endfor %}";
        String llama =
                "{{ '{\"name\": \"' + c.function.name + '\", \"parameters\": ' ~ c.function.arguments | tojson ~ '}' }}";
        String list = "[{{ c.function | tojson }}]";
        for (String mark : List.of("", "<call>")) {
            Optional<ToolCallFormat> none = Optional.empty();
            assertEquals(
                    mark.isEmpty() ? Optional.of(ToolCallFormat.LLAMA_3) : none,
                    ToolCallFormat.of(ChatTemplate.of(each.replace("%s", mark + llama))));
            assertEquals(
                    mark.isEmpty() ? Optional.of(ToolCallFormat.COGITO) : none,
                    ToolCallFormat.of(ChatTemplate.of(each.replace("%s", mark + list))));
        }
    }

    /** The template accepts tools and results, and writes only the text of answers. */
    @ParameterizedTest
    @EnumSource(
            names = {
                "HERMES",
                "MISTRAL",
                "PHI_4_MINI",
                "GRANITE_3",
                "FIREFUNCTION",
                "NEMOTRON",
                "NEMOTRON_MINI",
                "LFM_2",
                "COGITO"
            })
    void callsAreWrittenWhereATemplateLeavesThemOut(ToolCallFormat format) {
        ChatTemplate plain = ChatTemplate.of("{% for t in tools or [] %}{{ t | tojson }}{% endfor %}"
                + "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}");
        ToolCall call =
                new ToolCall("", "weather", "{\"city\": \"B\\\"<|im_end|>\", \"days\": [2, true, null, {\"a\": 1.5}]}");
        List<ToolDefinition> tools = List.of(new ToolDefinition("weather", "\ue0000\ue001", "{}"));
        List<ChatMessage> chat = List.of(
                ChatMessage.user("Q"),
                ChatMessage.assistant("Look.\ue0001\ue001", List.of(call, call)),
                ChatMessage.tool(call, "R"),
                ChatMessage.assistant("", List.of(call)),
                ChatMessage.tool(call, "S"));
        assertEquals(Optional.empty(), ToolCallFormat.of(plain));
        assertThrows(IllegalArgumentException.class, () -> plain.render(ChatPrompt.of(chat)));
        ChatTemplate template = format.addCallsTo(plain);
        assertEquals(Optional.of(format), ToolCallFormat.of(template));
        PromptText text = template.render(ChatPrompt.of(chat).withTools(tools));
        String[] answers = text.toString().split("<assistant>|<tool>");
        String first = answers[1].substring("Look.\ue0001\ue001".length());
        List<ToolCall> read = List.of(
                format.parse(first).toolCalls().get(0),
                format.parse(first).toolCalls().get(1),
                format.parse(answers[3]).toolCalls().get(0));
        assertEquals(4 + 1, answers.length);
        for (ToolCall each : read) {
            assertEquals("weather", each.name());
            assertEquals(call.arguments().replace(" ", ""), each.arguments().replace(" ", ""));
        }
        int end = text.toString().indexOf("<|im_end|>");
        assertTrue(text.isContent(end) && text.isContent(end + 9));
        assertEquals("R", answers[2]);
    }

    @Test
    void callsOfOtherFormatsAreWrittenByTemplatesAlone() {
        for (ToolCallFormat format : List.of(ToolCallFormat.HARMONY, ToolCallFormat.GEMMA_4, ToolCallFormat.COMMAND)) {
            assertThrows(IllegalArgumentException.class, () -> format.addCallsTo(ChatTemplate.CHATML));
        }
        ChatTemplate silent =
                ChatTemplate.of("{% for m in messages if m.role != 'assistant' %}{{ m.content }}{% endfor %}");
        ToolCall call = new ToolCall("", "f", "{}");
        ChatPrompt chat = ChatPrompt.of(List.of(ChatMessage.user("Q"), ChatMessage.assistant("", List.of(call))));
        assertThrows(
                IllegalArgumentException.class,
                () -> ToolCallFormat.GRANITE_3.addCallsTo(silent).render(chat));
    }

    @Test
    void python() {
        String call = "<|tool_call_start|>[%s]<|tool_call_end|>";
        String many = call.formatted("f(a='x\\'y', b=[1, 2.5, True,], c={\"k\": None, 'l': (1,)}), g()");
        assertEquals(
                List.of(
                        new ToolCall("", "f", "{\"a\":\"x'y\",\"b\":[1,2.5,true],\"c\":{\"k\":null,\"l\":[1]}}"),
                        new ToolCall("", "g", "{}")),
                ToolCallFormat.LFM_2.parse("Yes." + many).toolCalls());
        assertEquals(
                List.of(new ToolCall("", "f", "{\"a\": 1}")),
                ToolCallFormat.LFM_2
                        .parse(call.formatted("{\"name\": \"f\", \"arguments\": {\"a\": 1}}"))
                        .toolCalls());
        for (String wrong :
                List.of("f(a=b)", "f(1)", "f(a=1", "f(a=1) g()", "f(a='x)", "f(a={1: 2})", "", "f(a=1), ")) {
            assertThrows(
                    IllegalArgumentException.class, () -> ToolCallFormat.LFM_2.parse(call.formatted(wrong)), wrong);
        }
    }

    @Test
    void command() {
        String answer = "<|START_THINKING|>I look.<|END_THINKING|>"
                + "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"weather\", \"parameters\": "
                + CALL.arguments() + "}\n]<|END_ACTION|>";
        assertEquals(new ModelAnswer("I look.", "", List.of(CALL)), ToolCallFormat.COMMAND.parse(answer));
        assertEquals(
                new ModelAnswer("", "Hello.", List.of()),
                ToolCallFormat.COMMAND.parse("<|START_RESPONSE|>Hello.<|END_RESPONSE|>"));
    }

    @Test
    void gemma4() {
        String call = "<|tool_call>call:weather{city:<|\"|>Bern<|\"|>,days:2}<tool_call|>";
        assertEquals(
                new ModelAnswer("I look.", "", List.of(new ToolCall("", "weather", "{\"city\":\"Bern\",\"days\":2}"))),
                ToolCallFormat.GEMMA_4.parse("<|channel>thought\nI look.<channel|>" + call));
        // a text may contain the mark that ends calls
        String marked = "<|tool_call>call:f{a:<|\"|>x<tool_call|>y<|\"|>}<tool_call|>";
        assertEquals(
                new ModelAnswer("", "", List.of(new ToolCall("", "f", "{\"a\":\"x<tool_call|>y\"}"))),
                ToolCallFormat.GEMMA_4.parse(marked));
        String open = "<|tool_call>call:f{a:<|\"|>x}<tool_call|>";
        assertThrows(IllegalArgumentException.class, () -> ToolCallFormat.GEMMA_4.parse(open));
        assertThrows(IllegalArgumentException.class, () -> ToolCallFormat.GEMMA_4.parse(open + call));
    }

    @Test
    void namesOfXmlAreOneLine() {
        ToolCallFormat format = ToolCallFormat.QWEN_3_CODER;
        String call = "<tool_call>\n<function=%s>\n<parameter=%s>\n2\n</parameter>\n</function>\n</tool_call>";
        for (String name : List.of("", " ", "we\nather", "\n")) {
            for (String broken : List.of(call.formatted(name, "days"), call.formatted("weather", name))) {
                String message = assertThrows(IllegalArgumentException.class, () -> format.parse(broken), broken)
                        .getMessage();
                assertTrue(message.endsWith("expected a function with parameters"), message);
            }
        }
        assertEquals(
                List.of(new ToolCall("", "weather", "{\"days\":2}")),
                format.parse(call.formatted(" weather ", " days ")).toolCalls());
    }

    @Test
    void hermes() {
        ToolCallFormat format = ToolCallFormat.HERMES;
        assertEquals(new ModelAnswer("", "Hello.", List.of()), format.parse("Hello."));
        String one = "<tool_call>\n" + WEATHER + "\n</tool_call>";
        assertEquals(new ModelAnswer("", "", List.of(CALL)), format.parse(one));
        assertEquals(
                new ModelAnswer("I look.", "Let me see.", List.of(CALL, CALL)),
                format.parse("<think>\nI look.\n</think>\n\nLet me see.\n" + one + "\n" + one));
        assertEquals(new ModelAnswer("I look.", "Yes.", List.of()), format.parse("I look.\n</think>\n\nYes."));
        assertEquals(new ModelAnswer("I lo", "", List.of()), format.parse("<think>\nI lo"));
        assertEquals(
                List.of(new ToolCall("", "f", "{\"a\": 1}")),
                format.parse("<tool_call>{\"name\": \"f\", \"arguments\": \"{\\\"a\\\": 1}\"}</tool_call>")
                        .toolCalls());
        assertRefused(
                "tool call: <tool_call>\n{\"name\": \"wea; expected </tool_call> after it",
                "<tool_call>\n{\"name\": \"wea");
        assertRefused("tool call: {name}</tool_call>; expected a JSON object", "<tool_call>{name}</tool_call>");
        assertRefused("tool call.name: null; expected a string", "<tool_call>{\"arguments\": {}}</tool_call>");
        assertRefused(
                "tool call.arguments: [1]; expected an object",
                "<tool_call>{\"name\": \"f\", \"arguments\": [1]}</tool_call>");
    }

    private static void assertRefused(String message, String answer) {
        String actual = assertThrows(IllegalArgumentException.class, () -> ToolCallFormat.HERMES.parse(answer))
                .getMessage();
        assertEquals(message, actual);
    }

    @Test
    void llama() {
        ToolCallFormat format = ToolCallFormat.LLAMA_3;
        String call = "{\"name\": \"weather\", \"parameters\": {\"city\": \"Bern\", \"days\": 2}}";
        assertEquals(new ModelAnswer("", "", List.of(CALL)), format.parse(call));
        assertEquals(
                List.of(CALL, CALL),
                format.parse("<|python_tag|>" + call + "; " + call).toolCalls());
        String brace = "{\"name\": \"f\", \"parameters\": {\"a\": \"}\\\"{\"}}";
        assertEquals(
                "{\"a\": \"}\\\"{\"}",
                format.parse(brace).toolCalls().getFirst().arguments());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Hello.",
                "{\"city\": \"Bern\"}",
                "{\"name\": \"weather\"}",
                "{\"name\": \"weather\", \"parameters\": {\"city\"",
                "{\"name\": \"weather\", \"parameters\": {}} is a call.",
                "{",
                ""
            })
    void whatIsNoCallOfLlamaIsContent(String answer) {
        assertEquals(new ModelAnswer("", answer, List.of()), ToolCallFormat.LLAMA_3.parse(answer));
    }

    @Test
    void mistral() {
        ToolCallFormat format = ToolCallFormat.MISTRAL;
        assertEquals(List.of(CALL), format.parse("[" + WEATHER + "]").toolCalls());
        String named = "[TOOL_CALLS] [{\"id\": \"abcdefghi\", " + WEATHER.substring(1) + ", " + WEATHER + "]";
        ModelAnswer answer = format.parse("See: " + named);
        assertEquals("See:", answer.content());
        assertEquals(List.of(new ToolCall("abcdefghi", "weather", CALL.arguments()), CALL), answer.toolCalls());
        assertEquals(new ModelAnswer("", "[1, 2]", List.of()), format.parse("[1, 2]"));
        assertEquals(new ModelAnswer("", "Hello.", List.of()), format.parse("Hello."));
        assertThrows(IllegalArgumentException.class, () -> format.parse("[TOOL_CALLS] [{\"name\""));
    }

    /** The template writes a parsed call as the model wrote it, so that the chat can continue. */
    @Test
    void anAnswerIsTheNextMessage() {
        String written = "<tool_call>\n" + WEATHER + "\n</tool_call>";
        ModelAnswer answer = ToolCallFormat.HERMES.parse("<think>\nA\n</think>\n\nB\n" + written);
        List<ChatMessage> chat = List.of(
                ChatMessage.user("Q"),
                answer.message(),
                ChatMessage.tool(answer.toolCalls().getFirst(), "R"));
        String text = ChatTemplate.QWEN_3.render(ChatPrompt.of(chat)).toString();
        assertTrue(text.contains("<|im_start|>assistant\n<think>\nA\n</think>\n\nB\n" + written + "<|im_end|>"), text);
    }
}
