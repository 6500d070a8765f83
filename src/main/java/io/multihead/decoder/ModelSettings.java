package io.multihead.decoder;

import io.multihead.decoder.DecoderConfig.LayerRule;
import io.multihead.position.Rope;
import io.multihead.position.RopeScaling;
import java.util.List;
import java.util.StringJoiner;
import java.util.stream.Collectors;

/**
 * The settings of a model as fields by name, which the checksums of saved sessions cover. The names, their order and the form of a value
 * are part of the file format ({@link #VERSION}). They do not change if records here are renamed. A new setting is appended to its group
 * only if it differs from its default, so that the files of models without the setting stay valid.
 */
final class ModelSettings {
    /** The version of the text. Another version has other checksums. */
    static final String VERSION = "1";

    private ModelSettings() {}

    /**
     * Returns the text with the settings of a model.
     *
     * @param eightBitInputs whether products with weights of 4 bits round their inputs
     */
    static String of(DecoderConfig config, boolean eightBitInputs) {
        Fields fields = new Fields("DecoderConfig")
                .with("family", config.family())
                .with("sizes", sizes(config.sizes()))
                .with("attention", attention(config.attention()))
                .with("norms", norms(config.norms()))
                .with("layers", list(config.layers()))
                .with("activation", config.activation().name())
                .with("ends", ends(config.ends()))
                .with("fused", config.fused());
        DecoderConfig.ExpertRule experts = config.experts();
        if (experts != null) {
            fields.with("experts", experts(experts));
        }
        if (config.layerInputs() > 0) {
            fields.with("layerInputs", config.layerInputs());
        }
        switch (config.recurrent()) {
            case DecoderConfig.LinearRule linear -> fields.with("linear", linear(linear));
            case DecoderConfig.MambaRule mamba -> fields.with("mamba", mamba(mamba));
            case null -> {}
        }
        return fields + (eightBitInputs ? " eightBitInputs" : "");
    }

    private static Fields sizes(DecoderConfig.Sizes sizes) {
        return new Fields("Sizes")
                .with("layers", sizes.layers())
                .with("dim", sizes.dim())
                .with("heads", sizes.heads())
                .with("keyValueHeads", sizes.keyValueHeads())
                .with("headDim", sizes.headDim())
                .with("context", sizes.context());
    }

    private static Fields attention(DecoderConfig.AttentionRule rule) {
        Fields fields = new Fields("AttentionRule")
                .with("scale", rule.scale())
                .with("needsBiases", rule.needsBiases())
                .with("normalisesHeads", rule.normalizesHeads())
                .with("softCap", rule.softCap());
        fields = rule.hasSinks() ? fields.with("hasSinks", true) : fields;
        return rule.gated() ? fields.with("gated", true) : fields;
    }

    private static Fields norms(DecoderConfig.NormRule rule) {
        Fields fields = new Fields("NormRule")
                .with("epsilon", rule.epsilon())
                .with("onePlus", rule.onePlus())
                .with("sandwich", rule.sandwich());
        return rule.residualScale() == 1 ? fields : fields.with("residualScale", rule.residualScale());
    }

    private static Fields experts(DecoderConfig.ExpertRule rule) {
        Fields fields = new Fields("ExpertRule")
                .with("count", rule.count())
                .with("used", rule.used())
                .with("normalised", rule.normalized())
                .with("dense", rule.dense());
        switch (rule.beside()) {
            case GATED -> fields.with("shared", true);
            case NETWORK -> fields.with("shared", "plain");
            case BRANCH -> fields.with("branch", true);
            case NOTHING -> {}
        }
        DecoderConfig.Clamp clamp = rule.clamp();
        return clamp == null
                ? fields
                : fields.with(
                        "clamp",
                        new Fields("Clamp").with("slope", clamp.slope()).with("limit", clamp.limit()));
    }

    private static Fields linear(DecoderConfig.LinearRule rule) {
        return new Fields("LinearRule")
                .with("keyHeads", rule.heads().keyHeads())
                .with("valueHeads", rule.heads().valueHeads())
                .with("keyDim", rule.heads().keyDim())
                .with("valueDim", rule.heads().valueDim())
                .with("tiled", rule.heads().tiled())
                .with("taps", rule.taps())
                .with("layers", rule.layers());
    }

    private static Fields mamba(DecoderConfig.MambaRule rule) {
        return new Fields("MambaRule")
                .with("heads", rule.heads().heads())
                .with("headDim", rule.heads().headDim())
                .with("groups", rule.heads().groups())
                .with("stateDim", rule.heads().stateDim())
                .with("taps", rule.taps())
                .with("normParts", rule.normParts())
                .with("layers", rule.layers());
    }

    private static Fields ends(DecoderConfig.Ends ends) {
        Fields fields = new Fields("Ends")
                .with("embeddingScale", ends.embeddingScale())
                .with("softCap", ends.softCap())
                .with("head", ends.head().name());
        return ends.logitScale() == 1 ? fields : fields.with("logitScale", ends.logitScale());
    }

    private static String list(List<LayerRule> layers) {
        return layers.stream().map(ModelSettings::layer).collect(Collectors.joining(", ", "[", "]"));
    }

    private static String layer(LayerRule rule) {
        Fields fields = new Fields("LayerRule")
                .with("rope", rule.rope() == null ? "null" : rope(rule.rope()))
                .with("window", rule.window());
        if (rule.taps() != 0) {
            fields.with("taps", rule.taps());
        }
        if (rule.heads() != null) {
            fields.with("headDim", rule.heads().headDim())
                    .with("keyValueHeads", rule.heads().keyValueHeads())
                    .with("keysOf", rule.keysOf());
        }
        if (rule.heads() != null && rule.heads().values() == DecoderConfig.Values.KEYS) {
            fields.with("values", "keys");
        }
        return fields.toString();
    }

    private static String rope(Rope rope) {
        Rope.Config config = rope.config();
        String text = new Fields("Config")
                .with("rotaryDims", config.rotaryDims())
                .with("theta", config.theta())
                .with("pairing", config.pairing().name())
                .with("scaling", scaling(config.scaling()))
                .toString();
        return rope.sections() == null ? text : text + ", " + rope.sections();
    }

    private static Fields scaling(RopeScaling scaling) {
        return switch (scaling) {
            case RopeScaling.None none -> new Fields("None");
            case RopeScaling.Linear linear -> new Fields("Linear").with("factor", linear.factor());
            case RopeScaling.NtkAware aware -> new Fields("NtkAware").with("factor", aware.factor());
            case RopeScaling.Yarn yarn ->
                new Fields("Yarn")
                        .with("factor", yarn.factor())
                        .with("originalContext", yarn.originalContext())
                        .with("betaFast", yarn.betaFast())
                        .with("betaSlow", yarn.betaSlow())
                        .with("attentionFactor", yarn.attentionFactor())
                        .with("truncate", yarn.truncate());
            case RopeScaling.Llama3 llama ->
                new Fields("Llama3")
                        .with("factor", llama.factor())
                        .with("lowFrequencyFactor", llama.lowFrequencyFactor())
                        .with("highFrequencyFactor", llama.highFrequencyFactor())
                        .with("originalContext", llama.originalContext());
            case RopeScaling.LongRope longRope ->
                new Fields("LongRope")
                        .with("shortFactors", longRope.shortFactors())
                        .with("longFactors", longRope.longFactors())
                        .with("originalContext", longRope.originalContext())
                        .with("context", longRope.context())
                        .with("attentionFactor", longRope.attentionFactor());
            case RopeScaling.Frequencies frequencies ->
                new Fields("Frequencies")
                        .with("perPosition", frequencies.perPosition())
                        .with("attentionFactor", frequencies.attentionFactor());
            case RopeScaling.Proportional proportional ->
                new Fields("Proportional")
                        .with("fraction", proportional.fraction())
                        .with("factor", proportional.factor());
        };
    }

    /** Fields of a group in the order in which they are added: {@code Group[name=value, ...]}. */
    private static final class Fields {
        private final StringJoiner all;

        Fields(String group) {
            all = new StringJoiner(", ", group + "[", "]");
        }

        Fields with(String name, Object value) {
            all.add(name + "=" + value);
            return this;
        }

        @Override
        public String toString() {
            return all.toString();
        }
    }
}
