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
    void callsOfToolsAndResultsStayAsTheyAre() {
        ToolCall call = new ToolCall("1", "clock", "{}");
        List<ChatMessage> chat = List.of(
                ChatMessage.user("When?"),
                ChatMessage.assistant("", List.of(call)),
                ChatMessage.tool(call, "noon"),
                ChatMessage.tool(call, "midnight"),
                ChatMessage.assistant("Noon."),
                ChatMessage.user("And?"));
        assertEquals(chat, ChatTurns.of(chat));
    }

    private static final String TURNS = "{% for m in messages %}"
            + "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('turns, please') }}{% endif %}"
            + "{{ m.role[0] + m.content + ';' }}{% endfor %}";

    private static final String ANY = "{% for m in messages %}{{ m.role[0] + m.content + ';' }}{% endfor %}";

    /** Returns the text that a session appends for these messages if the file has the template. */
    private String appended(String template, String... messages) throws IOException {
        Path file = folder.resolve("template.gguf");
        FamilyModel.writeChat(file, template, 1000);
        try (LanguageModel model = LanguageModel.load(Compute.serial(), file);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                Session session = ChatTurns.append(sessions.open(), chat(messages))) {
            return model.tokenizer().decode(session.tokens()).replace("\u2581", ""); // a space
        }
    }

    @Test
    void aChatIsAppendedAsItIsWhereTheTemplateTakesIt() throws IOException {
        String[] messages = {"a Hello.", "u Hi", "s Brief.", "u And?"};
        assertEquals("aHello.;uHi;sBrief.;uAnd?;", appended(ANY, messages));
        assertEquals("uBrief.\n\nHi\n\nAnd?;", appended(TURNS, messages));
        assertEquals("uHi;aHello.;uAnd?;", appended(TURNS, "u Hi", "a Hello.", "u And?"));
    }

    @Test
    void whatIsRefusedInEachFormHasTheWordsOfTheTemplate() {
        for (String[] messages : List.of(new String[] {"a Hello."}, new String[] {"s Brief.", "a Hello."})) {
            String message = assertThrows(
                            IllegalArgumentException.class,
                            () -> appended("{{ raise_exception('turns, please') }}", messages))
                    .getMessage();
            assertTrue(message.contains("turns, please"), message);
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
