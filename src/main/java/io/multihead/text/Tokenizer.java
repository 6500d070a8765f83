package io.multihead.text;

import io.multihead.internal.base.Checks;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Converts text to the token ids of a language model, and ids to text.
 *
 * <p>{@link #encode(String)} and {@link #count} treat only the text, as in {@link EncoderTokenizer}; {@link #withSpecialTokens} adds
 * the first and last tokens that the model's file puts around a text.
 *
 * <p>A user's text never becomes a control token: {@link #encode(String)} reads {@code <|im_start|>} as plain characters. {@link
 * #encode(PromptText)} makes a control token of it only in text of the program, such as the marks of a chat template. Tokens with the type
 * user-defined, such as runs of line feeds, are parts of text, and both methods find them.
 *
 * <p>An unpaired surrogate is read as U+FFFD, because UTF-8 has no surrogates. The time for any text is proportional to its length times
 * the logarithm of the length of its longest word.
 *
 * <p>Implementations are immutable and thread-safe.
 */
public interface Tokenizer {
    /** {@return the number of tokens; one more than the largest id} */
    int vocabularySize();

    /**
     * {@return the number of tokens for which a model must have a row; one more than the largest id of a token of the model's own
     * vocabulary}. As in transformers, the model needs no rows for tokens that {@code added_tokens} of a {@code tokenizer.json} puts after
     * the model's own vocabulary.
     */
    int ownVocabularySize();

    /** {@return the ids of special tokens} */
    SpecialIds specialIds();

    /**
     * Returns a token as written in its file.
     *
     * @param id from 0 to {@code vocabularySize() - 1}
     * @return its text
     */
    String token(int id);

    /**
     * {@return the type of a token}
     *
     * @param id from 0 to {@code vocabularySize() - 1}
     */
    TokenType type(int id);

    /**
     * Returns the id of a token by its text in the file, including control tokens.
     *
     * @param token the token's text
     * @return the id, or {@link SpecialIds#NONE}
     */
    int find(String token);

    /**
     * Returns the ids of a text in which nothing is a control token, without the tokens that {@link #withSpecialTokens} adds.
     *
     * @param text any text
     * @return a new array
     */
    int[] encode(String text);

    /**
     * Returns the ids of a prompt, without the tokens that {@link #withSpecialTokens} adds: control tokens are found
     * only in template characters, never in content.
     *
     * @param prompt the prompt
     * @return a new array
     */
    int[] encode(PromptText prompt);

    /**
     * Returns the bytes of UTF-8 that a token adds to a text; for a control token, the bytes of its name. A token may have only a part
     * of a code point.
     *
     * @param id from 0 to {@code vocabularySize() - 1}
     * @return a new array
     */
    byte[] pieceBytes(int id);

    /**
     * {@return the text of ids without control and unknown tokens}. The spaces that {@link #encode(String)} puts before a text and after a
     * token that it finds in it are removed. Bytes that are not UTF-8 become U+FFFD.
     *
     * @param ids the ids of one text from its beginning; {@link TextStream} decodes ids that continue a text
     */
    String decode(int... ids);

    /**
     * Adds the tokens that the model's file puts around every text, unless the ids already have them.
     *
     * @param ids the ids of a text
     * @return a new array
     */
    default int[] withSpecialTokens(int... ids) {
        SpecialIds special = specialIds();
        int length = Checks.notNull(ids, "ids").length;
        boolean begin = special.added().begin() && (length == 0 || ids[0] != special.begin());
        boolean end = special.added().end() && (length == 0 || ids[length - 1] != special.end());
        int[] all = new int[length + (begin ? 1 : 0) + (end ? 1 : 0)];
        System.arraycopy(ids, 0, all, begin ? 1 : 0, length);
        if (begin) {
            all[0] = special.begin();
        }
        if (end) {
            all[all.length - 1] = special.end();
        }
        return all;
    }

    /**
     * Returns whether a token ends a generated text.
     *
     * @param id an id
     * @return whether it is one of {@link SpecialIds#stopTokens}
     */
    default boolean isStopToken(int id) {
        return specialIds().stopTokens().contains(id);
    }

    /**
     * Returns whether decoded text omits a token.
     *
     * @param id from 0 to {@code vocabularySize() - 1}
     * @return whether it is a control token or the unknown token
     */
    default boolean isControl(int id) {
        TokenType type = type(id);
        return type == TokenType.CONTROL || type == TokenType.UNKNOWN;
    }

    /**
     * Returns the number of ids that {@link #encode(String)} would return.
     *
     * @param text any text
     * @return at least 0
     */
    default int count(String text) {
        return encode(text).length;
    }

    /**
     * Returns the texts of ids one by one, for messages and studies.
     *
     * @param ids any ids
     * @return the text that each token adds; a part of a code point becomes U+FFFD
     */
    default String[] pieces(int... ids) {
        return Arrays.stream(Checks.notNull(ids, "ids"))
                .mapToObj(id -> new String(pieceBytes(id), StandardCharsets.UTF_8))
                .toArray(String[]::new);
    }
}
