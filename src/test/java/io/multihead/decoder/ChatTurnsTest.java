package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.decoder.ChatMessage.Role;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ChatTurnsTest {
    @TempDir
    private Path folder;

    private static List<ChatMessage> chat(String... messages) {
        List<ChatMessage> chat = new ArrayList<>();
        for (String message : messages) {
            String content = message.substring(2);
            chat.add(
                    switch (message.charAt(0)) {
                        case 's' -> ChatMessage.system(content);
                        case 'u' -> ChatMessage.user(content);
                        default -> ChatMessage.assistant(content);
                    });
        }
        return chat;
    }

    private static void assertTurns(List<ChatMessage> expected, String... given) {
        assertEquals(expected, ChatTurns.of(chat(given)));
    }

    @Test
    void aWindowMayBeginWithAnAnswer() {
        assertTurns(chat("s Brief.", "u And?"), "s Brief.", "a Hello.", "u And?");
        assertTurns(chat("u And?", "a So.", "u Well?"), "a Hello.", "u And?", "a So.", "u Well?");
    }

    @Test
    void questionsInARowAreOne() {
        assertTurns(chat("u Hi\n\nAnd?"), "u Hi", "u And?");
        assertTurns(chat("u Hi", "a Hello.\n\nSo.", "u And?"), "u Hi", "a Hello.", "a So.", "u And?");
    }

    @Test
    void messagesOfTheSystemAreOneAtTheBegin() {
        assertTurns(chat("s Brief.\n\nKind.", "u Hi\n\nAnd?"), "s Brief.", "u Hi", "s Kind.", "u And?");
        assertTurns(chat("s Kind.", "u Hi"), "u Hi", "s Kind.");
    }

    @Test
    void answersWithoutTextAreLeftOut() {
        assertTurns(chat("u Hi\n\nAnd?"), "u Hi", "a ", "u And?");
    }

    @Test
    void anyChatIsInTurnsThenAndStaysSo() {
        Random random = new Random(11);
        String[] kinds = {"s x", "u y", "a z", "a "};
        for (int round = 0; round < 500; round++) {
            String[] messages = new String[random.nextInt(1, 9)];
            for (int i = 0; i < messages.length; i++) {
                messages[i] = kinds[random.nextInt(kinds.length)];
            }
            List<ChatMessage> turns = ChatTurns.of(chat(messages));
            int first = !turns.isEmpty() && turns.getFirst().role() == Role.SYSTEM ? 1 : 0;
            for (int i = first; i < turns.size(); i++) {
                assertEquals(
                        (i - first) % 2 == 0 ? Role.USER : Role.ASSISTANT,
                        turns.get(i).role());
            }
            assertEquals(turns, ChatTurns.of(turns));
        }
    }

    @Test
    void whatATemplateTakesIsAppendedAsItIs() throws IOException {
        List<ChatMessage> taken = chat("s Brief.", "u Hi", "a Hello.", "u And?");
        List<ChatMessage> other = chat("s Brief.", "a Hello.", "u Hi", "u And?");
        Path file = folder.resolve("tiny.gguf");
        FamilyModel.write(file);
        try (LanguageModel model = LanguageModel.load(Compute.serial(), file).withChatTemplate(ChatTemplate.CHATML);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                Session expected = sessions.open().appendChat(taken);
                Session actual = ChatTurns.append(sessions.open(), taken);
                Session refused = sessions.open()) {
            assertArrayEquals(expected.tokens(), actual.tokens());
            assertTrue(ChatTurns.append(refused, other).length() > 0);
            int length = refused.length();
            ChatMessage[] many = new ChatMessage[1000];
            java.util.Arrays.fill(many, ChatMessage.user("A text that is too long."));
            IllegalArgumentException wrong =
                    assertThrows(IllegalArgumentException.class, () -> ChatTurns.append(refused, List.of(many)));
            assertTrue(wrong.getMessage().startsWith("messages: "), wrong.getMessage());
            assertEquals(length, refused.length());
        }
    }
}
