package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The notes of a saved session: the identity of its model, and its tokens. A file is checked before anything is taken from it.
 *
 * @param model the model of the keys and values
 * @param frequencies the name of the frequencies that rotate keys, which may depend on the longest text of a session
 */
record PrefixFile(ModelIdentity model, String frequencies) {
    private static final String MODEL = "model";
    /** The version of the settings that the checksum covers; files without this field have the first version. */
    private static final String SETTINGS = "settings";

    private static final String CHECKSUM = "checksum";
    private static final String FREQUENCIES = "frequencies";
    private static final String TOKENS = "tokens";

    Map<String, String> write(TokenList tokens) {
        StringBuilder ids = new StringBuilder();
        for (int i = 0; i < tokens.size(); i++) {
            ids.append(i == 0 ? "" : " ").append(tokens.get(i));
        }
        Map<String, String> notes = new LinkedHashMap<>();
        notes.put(MODEL, model.name());
        notes.put(SETTINGS, ModelSettings.VERSION);
        notes.put(CHECKSUM, model.checksum());
        notes.put(FREQUENCIES, frequencies);
        notes.put(TOKENS, ids.toString());
        return notes;
    }

    /**
     * Reads the tokens of a file.
     *
     * @param mostTokens the largest number of tokens of a session
     * @param to receives the tokens
     */
    void read(Map<String, String> notes, int mostTokens, TokenList to) {
        String version = notes.getOrDefault(SETTINGS, ModelSettings.VERSION);
        if (!version.equals(ModelSettings.VERSION)) {
            throw Checks.fail(SETTINGS, "version " + version, "expected version " + ModelSettings.VERSION);
        }
        String checksum = notes.get(CHECKSUM);
        if (!model.checksum().equals(checksum)) {
            throw Checks.fail(
                    MODEL,
                    notes.get(MODEL) + ", checksum " + checksum,
                    "expected the model of these sessions, " + model.name() + ", checksum " + model.checksum());
        }
        if (!frequencies.equals(notes.get(FREQUENCIES))) {
            throw Checks.fail(
                    FREQUENCIES,
                    String.valueOf(notes.get(FREQUENCIES)),
                    "expected the frequencies of these sessions, " + frequencies);
        }
        readTokens(notes.get(TOKENS), model.vocabulary(), mostTokens, to);
    }

    private static void readTokens(@Nullable String text, int vocabulary, int mostTokens, TokenList to) {
        String ids = text == null ? "" : text;
        int at = 0;
        while (at < ids.length()) {
            int end = ids.indexOf(' ', at);
            end = end < 0 ? ids.length() : end;
            if (to.size() == mostTokens) {
                throw Checks.fail(TOKENS, "more than " + mostTokens, "expected at most the sessions' context");
            }
            to.add(id(ids.substring(at, end), vocabulary, to.size()));
            at = end + 1;
        }
        if (to.size() == 0) {
            throw Checks.fail(TOKENS, String.valueOf(text), "expected one at least");
        }
    }

    private static int id(String word, int vocabulary, int index) {
        try {
            return (int) Checks.index(Long.parseLong(word), vocabulary, TOKENS + "[" + index + "]");
        } catch (NumberFormatException wrong) {
            throw Checks.fail(TOKENS + "[" + index + "]", word, "expected 0 to " + (vocabulary - 1));
        }
    }
}
