package io.multihead.internal.text.unigram;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads the parts of a {@code tokenizer.json} that change normalized text: Strip, and Replace in the forms that files of XLM-R, ALBERT and
 * model2vec use. Any other part is an error that names the part.
 */
public final class StepsJson {
    private static final String MARK = "\u2581";
    private static final String SPACES = " {2,}";
    private static final String WHITE_SPACE = "\\s+";

    private final List<NormalizerStep> steps = new ArrayList<>();
    /** The punctuation that the previous parts put between spaces. */
    private final StringBuilder parted = new StringBuilder();

    /** Reads the next part. */
    public void add(JsonObject part) {
        switch (part.text("type")) {
            case "Strip" -> {
                requireAllPunctuation();
                if (part.flag("strip_left", true)) {
                    steps.add(NormalizerStep.STRIP_LEFT);
                }
                if (part.flag("strip_right", true)) {
                    steps.add(NormalizerStep.STRIP_RIGHT);
                }
            }
            case "Replace" -> replace(part);
            default -> throw part.fail("type", "Precompiled, BertNormalizer, Strip or Replace");
        }
    }

    private void replace(JsonObject part) {
        JsonObject pattern = part.object("pattern");
        String content = part.text("content");
        if (pattern.has("String")) {
            partPunctuation(part, pattern.text("String"), content);
            return;
        }
        requireAllPunctuation();
        String expression = pattern.text("Regex");
        if (expression.equals(WHITE_SPACE) && content.equals(" ")) {
            steps.add(NormalizerStep.WHITE_SPACE_TO_SPACE);
        } else if (!expression.equals(SPACES)) {
            throw pattern.fail("Regex", SPACES + ", or " + WHITE_SPACE + " for a space");
        } else if (content.equals(" ")) {
            steps.add(NormalizerStep.SPACES_TO_SPACE);
        } else if (content.equals(MARK)) {
            steps.add(NormalizerStep.SPACES_TO_MARK);
        } else {
            throw part.fail("content", "a space or U+2581");
        }
    }

    /**
     * Reads a part for one punctuation character. Files of model2vec have a part for each character. The order of these parts has no
     * effect, since none of them produces another punctuation character.
     */
    private void partPunctuation(JsonObject part, String character, String content) {
        boolean known = character.length() == 1 && NormalizerStep.PUNCTUATION.contains(character);
        if (!known || !content.equals(" " + character + " ")) {
            throw part.fail("content", "a punctuation character of ASCII between spaces, which replaces itself");
        }
        if (parted.indexOf(character) >= 0) {
            throw part.fail("content", "a character that no earlier part has, since each is parted once");
        }
        if (parted.isEmpty()) {
            steps.add(NormalizerStep.PART_PUNCTUATION);
        }
        parted.append(character);
    }

    private void requireAllPunctuation() {
        if (!parted.isEmpty() && parted.length() < NormalizerStep.PUNCTUATION.length()) {
            throw Checks.fail(
                    "tokenizer.normalizer",
                    "spaces around " + parted,
                    "expected them around " + NormalizerStep.PUNCTUATION);
        }
        parted.setLength(0);
    }

    public List<NormalizerStep> all() {
        requireAllPunctuation();
        return List.copyOf(steps);
    }
}
