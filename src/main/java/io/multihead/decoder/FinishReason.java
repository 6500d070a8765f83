package io.multihead.decoder;

/** Why a text ended. */
public enum FinishReason {
    /** The model chose an end token. */
    END_TOKEN,
    /** The text had one of the stop sequences, which is cut off. */
    STOP_SEQUENCE,
    /** The text has as many tokens as the options allow. */
    MAX_TOKENS,
    /** The session has as many tokens as its context holds, and the options do not let it slide. */
    CONTEXT_FULL,
    /** The listener asked for no more. */
    CANCELLED,
    /** The call has taken as much time as the options allow. */
    TIMEOUT
}
