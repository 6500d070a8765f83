package io.multihead.internal.text.unigram;

import io.multihead.internal.text.unicode.BertSteps;
import io.multihead.internal.text.unicode.CharacterTable;
import io.multihead.internal.text.unicode.Utf8;
import java.util.List;

/** The normalizer {@code BertNormalizer} of HuggingFace's crate for text that is not divided at punctuation, and the steps that may follow it in a file. */
public final class CodePointNormalizer implements UnigramNormalizer {
    private final CharacterTable characters;
    private final List<NormalizerStep> steps;

    public CodePointNormalizer(BertSteps normalization, List<NormalizerStep> steps) {
        characters = CharacterTable.withoutPunctuation(normalization);
        this.steps = steps;
    }

    @Override
    public void normalize(UnigramBuffer buffer, int origin) {
        byte[] source = buffer.source;
        int index = origin;
        for (int at = 0; at < buffer.sourceEnd; at += Utf8.length(source[at])) {
            int codePoint = Utf8.codePoint(source, at);
            int entry = characters.entry(codePoint);
            if (CharacterTable.kind(entry) == CharacterTable.SEVERAL) {
                for (int part : characters.expansion(codePoint, entry)) {
                    put(buffer, part, index);
                }
            } else {
                put(buffer, entry, index);
            }
            index += Utf8.chars(source[at]);
        }
        buffer.finish(index);
        NormalizerStep.apply(steps, buffer);
    }

    private static void put(UnigramBuffer buffer, int entry, int origin) {
        switch (CharacterTable.kind(entry)) {
            case CharacterTable.LETTER -> buffer.putCodePoint(CharacterTable.codePoint(entry), origin);
            case CharacterTable.ALONE -> {
                buffer.put((byte) ' ', origin);
                buffer.putCodePoint(CharacterTable.codePoint(entry), origin);
                buffer.put((byte) ' ', origin);
            }
            case CharacterTable.SPACE -> buffer.put((byte) ' ', origin);
            default -> {}
        }
    }
}
