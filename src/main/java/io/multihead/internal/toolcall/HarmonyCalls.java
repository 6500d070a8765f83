package io.multihead.internal.toolcall;

import java.util.List;

/** Messages on channels, in the notation of GPT-OSS (harmony): a call is a message to {@code functions.name}. */
public final class HarmonyCalls extends CallSyntax {
    static final String CHANNEL = "<|channel|>";
    static final String MESSAGE = "<|message|>";
    static final String END = "<|end|>";
    static final String START = "<|start|>";

    public HarmonyCalls() {
        super("to=functions\\.probed_name(<\\|channel\\|>commentary)? .*<\\|message\\|>\\{.*}<\\|call\\|>", List.of());
    }

    @Override
    public Reading read(String text, boolean ended, List<Tool> tools) {
        return Reading.text(text.length());
    }

    @Override
    public boolean hasChannels() {
        return true;
    }

    /** Returns a grammar that allows a thought first. */
    @Override
    public CallRules rules(List<Tool> tools) {
        CallRules rules = new CallRules();
        tools.forEach(tool -> requireName(tool, "[^\\s<]"));
        String call = rules.each(
                tools,
                (all, tool) -> CallRules.literal(tool.name() + " ") + " " + all.token("<|constrain|>") + " \"json\" "
                        + all.token(MESSAGE) + " " + all.arguments(tool));
        String thought = rules.token(CHANNEL) + " \"analysis\" " + rules.token(MESSAGE) + " " + rules.until(END) + " "
                + rules.token(START) + " \"assistant\"";
        String begin = rules.token(CHANNEL) + " " + CallRules.literal("commentary to=functions.");
        return rules.rule("calls", "(" + thought + ")? " + begin + " " + call);
    }
}
