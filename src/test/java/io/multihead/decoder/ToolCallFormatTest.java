package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls of tools in answers: which format a template's models have, and what an answer asks for. */
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

    /** A call that was parsed is written as the model wrote it, so that the chat goes on. */
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
