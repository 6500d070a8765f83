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
 * Reads a model on the calling thread and its tokenizer on another thread of the Compute, if there is one. The thread that finishes first
 * computes with {@link SmallModel} until the other one has finished. Inflating and packing MiniLM takes 0.6 s; with the small model during this
 * time, the first text takes 0.13 instead of 0.26 s (AMD Zen 4, 2 cores). Mapping a model takes 0.05 s, and reading its tokenizer takes 0.3 s
 * (AMD Zen 3, 2 cores).
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
     * Reads the model and the tokenizer. If one of them fails, the model's memory is freed, and the failure of the model, or else of the
     * tokenizer, is thrown.
     *
     * @param loading owns the model's memory, which the core closes
     * @param model reads the model, on the calling thread
     * @param tokenizer reads the tokenizer, on any thread of the Compute
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
        loader.model.run(); // has an effect only if another thread took both tasks before this thread arrived
        return new EncoderCore(
                loading,
                Loading.<EncoderModel, IOException>result(loader.model),
                Loading.<EncoderTokenizer, IOException>result(loader.tokenizer));
    }

    /** Reads the part, model or tokenizer, that no other thread has begun. Then it computes while the other thread reads. */
    @Override
    public void run(long task, Workspace scratch) {
        if (Thread.currentThread() == caller) {
            model.run();
        }
        tokenizer.run();
        try {
            SmallModel.compute(() -> model.isDone() && tokenizer.isDone());
        } catch (RuntimeException | Error lost) {
            // a failure delays the first text a little; too little memory for this is also too little for the model or
            // its texts
        }
    }
}
