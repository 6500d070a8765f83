package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.support.PageCode;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the class of docs/reference/chat.md, which drops the oldest messages of a chat. */
class WindowTest {
    private static final String TEMPLATE = "{% for m in messages %}{{ m.role[0] + m.content }}"
            + "{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}"
            + "{{ ';' }}{% endfor %}{{ 'a' }}";

    @TempDir
    private Path folder;

    @Test
    void everyChatHasRoom() throws IOException {
        Path file = folder.resolve("template.gguf");
        FamilyModel.writeChat(file, TEMPLATE, 1000);
        ToolCall call = new ToolCall("1", "clock", "{}");
        List<ChatMessage> chat = new ArrayList<>(List.of(ChatMessage.system("Brief.")));
        for (int turn = 0; turn < 40; turn++) {
            chat.add(ChatMessage.user("And number " + turn + "?"));
            if (turn % 3 == 0) {
                chat.add(ChatMessage.assistant("", List.of(call)));
                chat.add(ChatMessage.tool(call, "noon"));
            }
            chat.add(ChatMessage.assistant("So."));
        }
        chat.add(ChatMessage.user("Why?"));
        try (LanguageModel model = LanguageModel.load(Compute.serial(), file);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT.withContextTokens(200))) {
            assertThrows(IllegalArgumentException.class, () -> sessions.open().append("x".repeat(1000)));
            int before = 0;
            for (int limit = 40; limit < 200; limit++) {
                List<ChatMessage> window = Window.of(model, chat, limit);
                assertEquals(chat.getFirst(), window.getFirst());
                assertEquals(ChatMessage.Role.USER, window.get(1).role());
                assertEquals(
                        chat.subList(chat.size() - window.size() + 1, chat.size()), window.subList(1, window.size()));
                assertTrue(
                        model.tokenizer().encode(model.chatTemplate().render(ChatPrompt.of(window))).length <= limit);
                assertTrue(window.size() >= before, "a larger window has no fewer messages");
                before = window.size();
            }
            assertTrue(before > 6, before + " messages");
            assertEquals(ChatTurns.of(chat), Window.of(model, chat, Integer.MAX_VALUE));
            assertEquals(List.of(chat.getFirst(), chat.getLast()), Window.of(model, chat, 1));
        }
    }

    @Test
    void thePageHasThisCode() throws IOException {
        PageCode.isTested(
                Path.of("docs/reference/chat.md"), Path.of("src/test/java/io/multihead/decoder/Window.java"), "Window");
    }
}
