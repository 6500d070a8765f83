package io.multihead.decoder;

/** The behavior when a session's context is full. */
public enum WhenFull {
    /** The text ends with {@link FinishReason#CONTEXT_FULL}. */
    STOP,
    /**
     * The session drops its oldest tokens, and positions continue. The text then differs from the text of a session with a longer context,
     * and a model that was trained with fewer positions may write nonsense. A session that has slid accepts no more prompts.
     */
    SLIDE
}
