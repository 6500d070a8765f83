package io.multihead.jmh.bench;

import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.LoadOptions;
import io.multihead.decoder.Session;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import java.util.Arrays;
import org.openjdk.jmh.annotations.Param;

/**
 * The first token of turn 10 of a chat of 4,000 tokens with 400 tokens per turn. {@code multihead} passes the whole
 * chat to a new session, which starts from the pages of the session of turn 9. {@code held} is the control: a session
 * that holds the earlier turns gets only the new turn. {@code alone} computes the new turn without the earlier turns,
 * and {@code whole} computes the whole chat.
 */
public class ChatTurnBench extends ModelComparison {
    private static final int TOKENS = 4000;
    private static final int TURN = 400;
    private static final int BEFORE = TOKENS - TURN;
    private static final GenerationOptions ONE = GenerationOptions.DEFAULT.withMaxTokens(1);

    @Param({"multihead", "held", "alone", "whole"})
    public String impl;

    @Override
    void open() {
        int[] chat = ids(TOKENS);
        SessionOptions room =
                SessionOptions.DEFAULT.withContextTokens(TOKENS + 64).withSessions(2);
        load(impl, () -> switch (impl) {
            case "multihead" -> {
                Sessions sessions = sessions(LoadOptions.DEFAULT, room);
                try (Session before = sessions.open()) {
                    before.append(Arrays.copyOf(chat, BEFORE)).nextLogits();
                }
                yield () -> first(sessions, next(chat, BEFORE));
            }
            case "held" -> {
                Session held = kept(sessions(LoadOptions.DEFAULT, room).open());
                held.append(Arrays.copyOf(chat, BEFORE)).nextLogits();
                yield () -> held.truncate(BEFORE)
                        .append(Arrays.copyOfRange(next(chat, BEFORE), BEFORE, TOKENS))
                        .generate(ONE);
            }
            case "alone" -> {
                Sessions sessions = sessions(LoadOptions.DEFAULT, room.withKeptPrefixes(false));
                yield () -> first(sessions, Arrays.copyOfRange(chat, BEFORE, TOKENS));
            }
            case "whole" -> {
                Sessions sessions = sessions(LoadOptions.DEFAULT, room.withKeptPrefixes(false));
                yield () -> first(sessions, chat);
            }
            default -> throw unknown(impl);
        });
    }

    private static void first(Sessions sessions, int[] ids) {
        try (Session session = sessions.open()) {
            session.append(ids).generate(ONE);
        }
    }
}
