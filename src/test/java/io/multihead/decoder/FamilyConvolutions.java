package io.multihead.decoder;

import io.multihead.decoder.FamilyFile.Kind;
import io.multihead.format.GgufType;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import io.multihead.reference.ReferenceConvolution;
import io.multihead.reference.ReferenceTransformer;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/** The short convolutions of LFM2 models. */
final class FamilyConvolutions {
    static final int TAPS = 3;

    private FamilyConvolutions() {}

    static void draw(FamilyFile file, String at, int dim) {
        file.draw(at + "attn_norm.weight", 1, 0.2, dim);
        file.draw(at + "shortconv.in_proj.weight", 0.02, 0.12, 3 * dim, dim);
        file.draw(at + "shortconv.conv.weight", 0.2, 0.5, dim, TAPS);
        file.draw(at + "shortconv.out_proj.weight", 0.02, 0.1, dim, dim);
    }

    static GgufWriter metadata(Kind kind, GgufWriter writer, int keyHeads) {
        long[] heads = new long[kind.layers];
        Arrays.setAll(heads, layer -> kind.isConvolution(layer) ? 0 : keyHeads);
        return writer.put("lfm2.attention.head_count_kv", GgufValue.ofIntegers(GgufType.I32, heads))
                .put("lfm2.shortconv.l_cache", FamilyFile.number(TAPS));
    }

    static String config(Kind kind, double epsilon) {
        List<String> types = IntStream.range(0, kind.layers)
                .mapToObj(layer -> kind.isConvolution(layer) ? "\"conv\"" : "\"full_attention\"")
                .toList();
        return ", \"norm_eps\": " + epsilon + ", \"conv_L_cache\": " + TAPS + ", \"layer_types\": " + types;
    }

    static ReferenceTransformer.ShortConvolution reference(FamilyFile file, String at, int dim) {
        return new ReferenceTransformer.ShortConvolution(
                file.linear(at + "shortconv.in_proj.weight"),
                new ReferenceConvolution(file.wide(at + "shortconv.conv.weight"), dim),
                file.linear(at + "shortconv.out_proj.weight"));
    }
}
