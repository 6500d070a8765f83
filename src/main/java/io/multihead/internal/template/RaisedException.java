package io.multihead.internal.template;

/** A template's reason for refusing a chat: the argument of {@code raise_exception}. */
public final class RaisedException extends IllegalArgumentException {
    private static final long serialVersionUID = 1;

    RaisedException(String words) {
        super(words);
    }
}
