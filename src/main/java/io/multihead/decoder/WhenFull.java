package io.multihead.decoder;

/** What happens when a session's context is full. */
public enum WhenFull {
    /** The text ends with {@link FinishReason#CONTEXT_FULL}. */
    STOP,
    /**
     * The oldest tokens of the session are dropped, and positions go on. The text is then not that of a session with a longer
     * context, and models that were trained with fewer positions may fall apart. A session that has slid takes no more prompts.
     */
    SLIDE
}
