package io.multihead.encoder;

import io.multihead.internal.encoder.layer.DenseLayers;
import io.multihead.internal.encoder.layer.Normalization;
import io.multihead.internal.encoder.layer.PoolingConfig;
import io.multihead.internal.encoder.load.BertOnnx;
import io.multihead.internal.encoder.load.EncoderCore;
import io.multihead.internal.encoder.load.ModelLoader;
import io.multihead.internal.encoder.load.TokenizerFiles;
import io.multihead.internal.load.Loading;
import io.multihead.model.Pooling;
import io.multihead.text.Tokenizers;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Map;

/** An encoder from an ONNX file. Such a file contains no pooling, no prompts and no maximum length of texts. */
final class EncoderOnnx {
    private EncoderOnnx() {}

    static LoadedEncoder load(Loading loading, InputStream onnx, byte[] tokenizerJson, Pooling pooling)
            throws IOException {
        EncoderCore core = ModelLoader.load(
                loading, () -> BertOnnx.load(loading, onnx), () -> Tokenizers.ofEncoderJson(tokenizerJson));
        EncoderOptions options = new EncoderOptions(
                new PoolingConfig(List.of(pooling), true),
                Normalization.CUT,
                EncoderOptions.WHOLE,
                core.model.config.positions(),
                LongTexts.TRUNCATE,
                "");
        DenseLayers none = DenseLayers.none(core.model.config.dim());
        return new LoadedEncoder(core, none, options, Map.of(), "", TokenizerFiles.NONE);
    }
}
