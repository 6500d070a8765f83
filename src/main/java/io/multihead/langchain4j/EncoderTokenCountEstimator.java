package io.multihead.langchain4j;

import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.TokenCountEstimator;
import io.multihead.internal.base.Checks;
import io.multihead.text.EncoderTokenizer;

/**
 * Counts the tokens of an {@link EncoderTokenizer}, without {@code [CLS]} and {@code [SEP]}. The counts of texts are exact. The count of a
 * message is the count of its text. Thread-safe.
 */
public final class EncoderTokenCountEstimator implements TokenCountEstimator {
    private final EncoderTokenizer tokenizer;

    /**
     * Creates an estimator.
     *
     * @param tokenizer the tokenizer that counts
     */
    public EncoderTokenCountEstimator(EncoderTokenizer tokenizer) {
        this.tokenizer = Checks.notNull(tokenizer, "tokenizer");
    }

    /** Returns an estimator as {@link TokenCountEstimator}, which a caller with an older core can name without loading this class. */
    static TokenCountEstimator of(EncoderTokenizer tokenizer) {
        return new EncoderTokenCountEstimator(tokenizer);
    }

    @Override
    public int estimateTokenCountInText(String text) {
        return tokenizer.count(text);
    }

    @Override
    public int estimateTokenCountInMessage(ChatMessage message) {
        String text =
                switch (message) {
                    case SystemMessage system -> system.text();
                    case UserMessage user -> textOf(user);
                    case AiMessage ai -> ai.text();
                    case ToolExecutionResultMessage result -> result.text();
                    default ->
                        throw Checks.fail("message", String.valueOf(message.type()), "expected a message with a text");
                };
        return text == null ? 0 : estimateTokenCountInText(text);
    }

    private static String textOf(UserMessage message) {
        if (!message.hasSingleText()) {
            throw Checks.fail(
                    "message",
                    message.contents().size() + " contents",
                    "expected a message with one text and nothing else");
        }
        return message.singleText();
    }

    @Override
    public int estimateTokenCountInMessages(Iterable<ChatMessage> messages) {
        int count = 0;
        for (ChatMessage message : messages) {
            count += estimateTokenCountInMessage(message);
        }
        return count;
    }
}
