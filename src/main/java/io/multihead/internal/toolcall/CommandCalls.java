package io.multihead.internal.toolcall;

import io.multihead.text.PromptText;
import java.util.List;
import java.util.Optional;

/**
 * {@code <|START_ACTION|>[{"tool_call_id": "0", "tool_name": ..., "parameters": {...}}]<|END_ACTION|>} with a line for each call, in the
 * notation of Command R7B and Command A. The ids restart with each answer, so they are not kept. The text of an answer is also between
 * marks.
 */
public final class CommandCalls extends ListCalls {
    private static final String CALLS = "<|START_ACTION|>";
    private static final String END = "<|END_ACTION|>";

    public CommandCalls() {
        super(
                List.of(CALLS),
                List.of(),
                END,
                new ObjectCall.Keys("tool_name", "", List.of("parameters")),
                "<\\|START_ACTION\\|>\\[\\s*\\{\"tool_call_id\": \"\\d+\", \"tool_name\": \"probed_name\", \"parameters\": \\{.*}}\\s*]<\\|END_ACTION\\|>");
    }

    @Override
    public List<String> textMarks() {
        return List.of("<|START_RESPONSE|>", "<|END_RESPONSE|>");
    }

    @Override
    String objectBegin() {
        return CallRules.literal("{\"tool_call_id\": \"") + " [0-9]{1,2} " + CallRules.literal("\", \"tool_name\": ");
    }

    @Override
    String indent() {
        return "\n    ";
    }

    /** Returns nothing, because the template writes calls. */
    @Override
    public Optional<PromptText> write(List<Call> calls) {
        return Optional.empty();
    }
}
