package io.multihead.jmh.peer;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import io.multihead.support.OnnxMessage;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A small ONNX model, which is written node by node as protocol buffers. Its inputs and outputs are bound to native
 * memory.
 */
public final class Onnx implements Runnable, AutoCloseable {
    private static final int FLOAT = 1;
    private static final int UINT8 = 2;
    private static final int INT32 = 6;

    private final OrtEnvironment environment = OrtEnvironment.getEnvironment();
    private final OnnxMessage graph = new OnnxMessage();
    private final Map<String, OnnxTensor> inputs = new LinkedHashMap<>();
    private final Map<String, OnnxTensor> outputs = new LinkedHashMap<>();
    private OnnxMessage node;
    private OrtSession session;

    public Onnx(String operator, String domain) {
        node = new OnnxMessage().text(4, operator).text(7, domain);
    }

    /** Adds a node, to which all further inputs, attributes and outputs belong. */
    public Onnx then(String operator, String domain) {
        graph.message(1, node);
        node = new OnnxMessage().text(4, operator).text(7, domain);
        return this;
    }

    /** Adds an existing input, or an absent input for an empty name. */
    public Onnx from(String name) {
        node.text(1, name);
        return this;
    }

    /** Adds an output for later nodes only. */
    public Onnx to(String name) {
        node.text(2, name);
        return this;
    }

    public Onnx input(String name, FloatBuffer data, long... shape) throws OrtException {
        return input(name, FLOAT, OnnxTensor.createTensor(environment, data, shape), shape);
    }

    /** Adds an input of integers, such as lengths. */
    public Onnx input(String name, IntBuffer data, long... shape) throws OrtException {
        return input(name, INT32, OnnxTensor.createTensor(environment, data, shape), shape);
    }

    private Onnx input(String name, int type, OnnxTensor data, long... shape) {
        graph.message(11, value(name, type, shape));
        inputs.put(name, data);
        return from(name);
    }

    /** Adds a weight, which the runtime packs when it creates the session. */
    public Onnx constant(String name, FloatBuffer data, long... shape) {
        ByteBuffer raw = ByteBuffer.allocate(data.capacity() * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        raw.asFloatBuffer().put(data.duplicate().rewind());
        return constant(name, FLOAT, raw.array(), shape);
    }

    /** Adds a constant of unsigned bytes. */
    public Onnx constant(String name, byte[] data, long... shape) {
        return constant(name, UINT8, data, shape);
    }

    private Onnx constant(String name, int type, byte[] raw, long... shape) {
        node.text(1, name);
        OnnxMessage tensor = new OnnxMessage();
        for (long size : shape) {
            tensor.number(1, size);
        }
        graph.message(5, tensor.number(2, type).text(8, name).raw(9, raw));
        return this;
    }

    public Onnx attribute(String name, long value) {
        node.message(5, new OnnxMessage().text(1, name).number(3, value).number(20, 2));
        return this;
    }

    public Onnx output(FloatBuffer data, long... shape) throws OrtException {
        return output("out", data, shape);
    }

    public Onnx output(String name, FloatBuffer data, long... shape) throws OrtException {
        return output(name, OnnxTensor.createTensor(environment, data, shape), shape);
    }

    /** Adds an output that overwrites an input. */
    public Onnx sharedOutput(String name, String input, long... shape) {
        return output(name, inputs.get(input), shape);
    }

    private Onnx output(String name, OnnxTensor data, long... shape) {
        graph.message(12, value(name, FLOAT, shape));
        outputs.put(name, data);
        return to(name);
    }

    public Onnx open(int threads) throws OrtException {
        graph.message(1, node).text(2, "graph");
        OnnxMessage model = new OnnxMessage().number(1, 8);
        model.message(8, new OnnxMessage().text(1, "").number(2, 17));
        model.message(8, new OnnxMessage().text(1, "com.microsoft").number(2, 1));
        OrtSession.SessionOptions options = new OrtSession.SessionOptions();
        options.setIntraOpNumThreads(threads);
        session = environment.createSession(model.message(7, graph).bytes(), options);
        return this;
    }

    @Override
    public void run() {
        try {
            session.run(inputs, outputs).close();
        } catch (OrtException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() throws OrtException {
        session.close();
    }

    private static OnnxMessage value(String name, int type, long... shape) {
        OnnxMessage dims = new OnnxMessage();
        for (long size : shape) {
            dims.message(1, new OnnxMessage().number(1, size));
        }
        OnnxMessage tensor =
                new OnnxMessage().message(1, new OnnxMessage().number(1, type).message(2, dims));
        return new OnnxMessage().text(1, name).message(2, tensor);
    }
}
