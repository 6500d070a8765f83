package io.multihead.internal.text.wordpiece;

import io.multihead.internal.base.JsonObject;
import java.util.List;

/** Reads the template of a {@code tokenizer.json} for two texts. */
public final class PairJson {
    /** The number of elements other than the separators. */
    private static final int FIXED = 4;

    private PairJson() {}

    /** Returns the template of a file whose texts begin and end with these tokens. */
    public static PairTemplate of(JsonObject file, int begin, int end) {
        for (JsonObject part : file.parts("post_processor", "processors")) {
            switch (String.valueOf(part.find("type"))) {
                case "BertProcessing" -> {
                    return PairTemplate.BERT;
                }
                case "RobertaProcessing" -> {
                    return PairTemplate.ROBERTA;
                }
                case "TemplateProcessing" -> {
                    return template(part, begin, end);
                }
                default -> {}
            }
        }
        return PairTemplate.OTHER;
    }

    private static PairTemplate template(JsonObject part, int begin, int end) {
        List<?> elements = part.has("pair") ? part.array("pair") : List.of();
        int separators = elements.size() - FIXED;
        int second = elements.size() - 2;
        boolean fits = separators >= 1;
        int secondType = 0;
        for (int i = 0; fits && i < elements.size(); i++) {
            JsonObject element = JsonObject.of("tokenizer.post_processor.pair", elements.get(i));
            boolean text = i == 1 || i == second;
            JsonObject described = element.object(element.has("Sequence") ? "Sequence" : "SpecialToken");
            String name = described.text("id");
            fits = text == element.has("Sequence")
                    && (text ? name.equals(i == 1 ? "A" : "B") : id(part, name) == (i == 0 ? begin : end));
            int type = described.integer("type_id", 0, Integer.MAX_VALUE, 0);
            secondType = i == second ? type : secondType;
            fits &= type == (i < second ? 0 : secondType) && type <= 1;
        }
        return fits ? new PairTemplate(separators, secondType) : PairTemplate.OTHER;
    }

    private static int id(JsonObject part, String name) {
        List<?> ids = part.object("special_tokens").object(name).array("ids");
        return ids.size() == 1 && ids.get(0) instanceof Long id ? id.intValue() : WordPieceModel.NONE;
    }
}
