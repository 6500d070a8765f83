package io.multihead.text;

import java.util.OptionalInt;

/**
 * Text as the token ids of an encoder such as BERT, with where in the text each token comes from. The encoder reads each text between a
 * first and a last token, or for static embeddings the text alone.
 *
 * <p>{@link #encode} and {@link #count} are of the text alone, as in {@link Tokenizer}. {@link #encodeWithSpecialTokens(String)} returns the input of
 * the encoder.
 *
 * <p>Implementations are immutable and thread-safe. {@link #append(String, TokenBuffer)} allocates nothing once the buffer has grown and
 * the scripts in use, or words of byte pairs, were seen, but for text with characters from U+0300 on where it is composed (NFC);
 * {@link #encodeWithSpecialTokens(String)} allocates its result.
 */
public interface EncoderTokenizer {
    /**
     * Returns this tokenizer with special tokens in texts as special tokens, which is how the reference treats them, or as plain
     * text, for texts that must not reach the model's special tokens.
     *
     * @param recognized whether the name of a special token in a text becomes that token
     * @return a tokenizer that shares everything with this one
     */
    EncoderTokenizer withSpecialTokensInText(boolean recognized);

    /** {@return the number of tokens of the vocabulary; one more than the largest id} */
    int vocabularySize();

    /**
     * {@return the number of tokens for which a model must have a row; one more than the largest id of a token of the model's own
     * vocabulary}. As in transformers, it needs no rows for tokens that {@code added_tokens} of a {@code tokenizer.json} puts after the
     * model's own vocabulary.
     */
    int ownVocabularySize();

    /**
     * Returns a token as the vocabulary has it.
     *
     * @param id from 0 to {@code vocabularySize() - 1}
     * @return its text
     * @throws IllegalArgumentException if there is no such id
     */
    String token(int id);

    /** {@return how many tokens are put around every text: {@link #firstToken} and {@link #lastToken}, or none; 2 or 0} */
    int specialTokenCount();

    /** {@return the id of the token that begins every text, such as {@code [CLS]}, or {@link SpecialIds#NONE} without tokens around texts} */
    int firstToken();

    /** {@return the id of the token that ends every text, such as {@code [SEP]}, or {@link SpecialIds#NONE} without tokens around texts} */
    int lastToken();

    /**
     * {@return how many tokens the tokenizer's file would truncate a text to, those around it included; a number of tokens, or empty where
     * the file says nothing}. Tokenizers of this package truncate only where {@link #encodeWithSpecialTokens(String, int)} says so.
     */
    OptionalInt truncation();

    /**
     * {@return how many times {@link #lastToken} stands between the two texts of a pair, which also ends with it: 1 for BERT, 2 for RoBERTa
     * and its relatives; at least 1, or 0 if the tokenizer's file has another template for pairs}
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
     * @param text any text; empty text gives the tokens around it alone
     * @return a new array of at least {@link #specialTokenCount} ids
     */
    int[] encodeWithSpecialTokens(String text);

    /**
     * Returns a text's ids between {@link #firstToken} and {@link #lastToken}, the end of the text cut off where there are too many.
     *
     * @param text any text
     * @param mostTokens the most ids to return, those around a text included; at least 2
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
     * Returns how many ids {@link #encode} would return.
     *
     * @param text any text
     * @return at least 0
     */
    int count(String text);

    /**
     * Appends tokens by their ids, as {@link #encodeWithSpecialTokens(String)} returns them, without {@link #firstToken} and {@link
     * #lastToken}, with which they begin and end where there are tokens around texts.
     *
     * @param ids the ids of one text
     * @param to where the tokens go; a token's offsets are its index in {@code ids} and one past it
     * @throws IllegalArgumentException if the ids do not begin and end with these tokens, or one is not of the vocabulary; nothing has
     *     been appended then
     */
    void append(int[] ids, TokenBuffer to);

    /**
     * Appends a text's tokens, without {@link #firstToken} and {@link #lastToken}.
     *
     * @param text any text
     * @param to where the tokens go, with offsets into this text
     */
    void append(String text, TokenBuffer to);
}
