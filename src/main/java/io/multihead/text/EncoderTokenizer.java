package io.multihead.text;

import java.util.OptionalInt;

/**
 * Converts text to the token ids of an encoder such as BERT, with the offsets of each token in the text. The encoder reads each text between a first
 * and a last token; static embeddings read only the text.
 *
 * <p>{@link #encode} and {@link #count} treat only the text, as in {@link Tokenizer}. {@link #encodeWithSpecialTokens(String)} returns the input of
 * the encoder.
 *
 * <p>Implementations are immutable and thread-safe. {@link #append(String, TokenBuffer)} allocates nothing after the buffer has grown and the
 * scripts in use, or words of byte pairs, were seen, except for text with characters from U+0300 on if it is composed (NFC). {@link
 * #encodeWithSpecialTokens(String)} allocates its result.
 */
public interface EncoderTokenizer {
    /**
     * Returns this tokenizer with another treatment of special tokens in texts. They are read as special tokens, as in the reference, or as plain
     * text, for texts that must not contain special tokens.
     *
     * @param recognized whether the name of a special token in a text becomes that token
     * @return a tokenizer that shares its memory with this one
     */
    EncoderTokenizer withSpecialTokensInText(boolean recognized);

    /** {@return the number of tokens of the vocabulary; one more than the largest id} */
    int vocabularySize();

    /**
     * {@return the number of tokens for which a model must have a row; one more than the largest id of a token of the model's own vocabulary}. As in
     * transformers, the model needs no rows for tokens that {@code added_tokens} of a {@code tokenizer.json} puts after the model's own vocabulary.
     */
    int ownVocabularySize();

    /**
     * Returns a token as written in the vocabulary.
     *
     * @param id from 0 to {@code vocabularySize() - 1}
     * @return its text
     * @throws IllegalArgumentException if there is no such id
     */
    String token(int id);

    /** {@return the number of tokens that are put around every text: 2 for {@link #firstToken} and {@link #lastToken}, or 0} */
    int specialTokenCount();

    /** {@return the id of the token that begins every text, such as {@code [CLS]}, or {@link SpecialIds#NONE} without tokens around texts} */
    int firstToken();

    /** {@return the id of the token that ends every text, such as {@code [SEP]}, or {@link SpecialIds#NONE} without tokens around texts} */
    int lastToken();

    /**
     * {@return the number of tokens, including the tokens around a text, to which the tokenizer's file truncates; empty if the file has no
     * such setting}. Tokenizers of this package truncate only in {@link #encodeWithSpecialTokens(String, int)}.
     */
    OptionalInt truncation();

    /**
     * {@return the number of {@link #lastToken}s between the two texts of a pair, which also ends with this token: 1 for BERT, 2 for
     * RoBERTa and similar models, or 0 if the tokenizer's file has another template for pairs}
     */
    int separators();

    /**
     * {@return the token type that the tokenizer's files give to the second text of a pair and to the token after it; the first text and
     * the tokens around it have type 0; 0 or 1}
     */
    int secondType();

    /**
     * Returns a text's ids between {@link #firstToken} and {@link #lastToken}.
     *
     * @param text any text; an empty text gives only the tokens around it
     * @return a new array of at least {@link #specialTokenCount} ids
     */
    int[] encodeWithSpecialTokens(String text);

    /**
     * Returns a text's ids between {@link #firstToken} and {@link #lastToken}, with the end of the text truncated if there are too
     * many.
     *
     * @param text any text
     * @param mostTokens the largest number of ids to return, including the ids around the text; at
     *     least 2
     * @return a new array of at least {@link #specialTokenCount} ids
     */
    int[] encodeWithSpecialTokens(String text, int mostTokens);

    /**
     * Returns a text's ids, without {@link #firstToken} and {@link #lastToken}.
     *
     * @param text any text
     * @return a new array
     */
    int[] encode(String text);

    /**
     * Returns the number of ids that {@link #encode} would return.
     *
     * @param text any text
     * @return at least 0
     */
    int count(String text);

    /**
     * Appends the tokens of the ids that {@link #encodeWithSpecialTokens(String)} returns, without the {@link #firstToken} and {@link
     * #lastToken} around them.
     *
     * @param ids the ids of one text
     * @param to receives the tokens; a token's offsets are its index in {@code ids} and one past it
     * @throws IllegalArgumentException if the ids do not begin and end with these tokens, or an id is outside the vocabulary; nothing is
     *     appended
     */
    void append(int[] ids, TokenBuffer to);

    /**
     * Appends a text's tokens, without {@link #firstToken} and {@link #lastToken}.
     *
     * @param text any text
     * @param to receives the tokens, with offsets into this text
     */
    void append(String text, TokenBuffer to);
}
