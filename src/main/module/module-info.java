/** Multi-head attention on the CPU, in pure Java. */
module io.multihead {
    requires jdk.incubator.vector;
    requires jdk.jfr;
    requires static langchain4j.core;
    requires static org.jspecify;

    exports io.multihead.analysis;
    exports io.multihead.attention;
    exports io.multihead.cache;
    exports io.multihead.compute;
    exports io.multihead.decoder;
    exports io.multihead.encoder;
    exports io.multihead.format;
    exports io.multihead.gemm;
    exports io.multihead.grammar;
    exports io.multihead.langchain4j;
    exports io.multihead.model;
    exports io.multihead.nn;
    exports io.multihead.nn.attention;
    exports io.multihead.position;
    exports io.multihead.reference;
    exports io.multihead.tensor;
    exports io.multihead.text;
    exports io.multihead.train;
}
