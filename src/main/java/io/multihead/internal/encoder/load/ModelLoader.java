package io.multihead.internal.encoder.load;

import io.multihead.internal.call.SingleCall;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.load.Loading;
import io.multihead.text.EncoderTokenizer;
import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;

/**
 * Reads a model on the calling thread and its tokenizer on another, where the Compute has one. The thread that is done first computes
 * with {@link SmallModel} until the other one is. Inflating and packing MiniLM takes 0.6 s; with the small model meanwhile, the first text
 * takes 0.13 instead of 0.26 s (AMD Zen 4, 2 cores). A mapped model takes 0.05 s, its tokenizer 0.3 s (AMD Zen 3, 2 cores).
 */
public final class ModelLoader implements LoopBody {
    private final Thread caller = Thread.currentThread();
    private final FutureTask<EncoderModel> model;
    private final FutureTask<EncoderTokenizer> tokenizer;

    private ModelLoader(Callable<EncoderModel> model, Callable<? extends EncoderTokenizer> tokenizer) {
        this.model = new FutureTask<>(model);
        this.tokenizer = new FutureTask<>(tokenizer::call);
    }

    /**
     * Reads both, or fails as the model does, else as the tokenizer does; then the model's memory is freed.
     *
     * @param loading of the model, whose memory the core closes
     * @param model read by the calling thread
     * @param tokenizer read by any thread of the Compute
     */
    public static EncoderCore load(
            Loading loading, Callable<EncoderModel> model, Callable<? extends EncoderTokenizer> tokenizer)
            throws IOException {
        return EncoderCore.orClose(loading::close, () -> read(loading, model, tokenizer));
    }

    private static EncoderCore read(
            Loading loading, Callable<EncoderModel> model, Callable<? extends EncoderTokenizer> tokenizer)
            throws IOException {
        ModelLoader loader = new ModelLoader(model, tokenizer);
        SingleCall.run(loading.cpu(), loader, 2);
        loader.model.run(); // does nothing, unless another thread ran both tasks before this one came
        return new EncoderCore(
                loading,
                Loading.<EncoderModel, IOException>result(loader.model),
                Loading.<EncoderTokenizer, IOException>result(loader.tokenizer));
    }

    /**
     * Reads the rest for this thread, whichever task it is: a part that was begun is not begun again. Then it computes while the other
     * thread reads.
     */
    @Override
    public void run(long task, Workspace scratch) {
        if (Thread.currentThread() == caller) {
            model.run();
        }
        tokenizer.run();
        try {
            SmallModel.compute(() -> model.isDone() && tokenizer.isDone());
        } catch (RuntimeException | Error lost) {
            // costs the first text some time; too little memory will be too little for the model or for its texts
        }
    }
}
