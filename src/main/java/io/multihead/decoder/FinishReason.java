package io.multihead.decoder;

/** The reason why a text ended. */
public enum FinishReason {
    /** The model chose an end token. */
    END_TOKEN,
    /** The text had one of the stop sequences, which is removed. */
    STOP_SEQUENCE,
    /** The text has the largest number of tokens that the options allow. */
    MAX_TOKENS,
    /** The context of the session is full, and the options do not allow it to slide. */
    CONTEXT_FULL,
    /** The listener ended the text. */
    CANCELLED,
    /** The call has taken the time that the options allow. */
    TIMEOUT
}
