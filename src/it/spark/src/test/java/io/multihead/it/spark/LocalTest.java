package io.multihead.it.spark;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Test;

/** Two threads of the driver's JVM. */
class LocalTest extends GenerationContract {
    @Override
    SparkSession start(SparkSession.Builder session) {
        return session.master("local[2]").getOrCreate();
    }

    @Test
    void olderJavaIsAnErrorThatSaysWhatToSet() {
        assertDoesNotThrow(() -> ExecutorJava.require(25));
        String error = assertThrows(IllegalStateException.class, () -> ExecutorJava.require(21))
                .getMessage();
        assertTrue(error.startsWith("Java: 21 in "), error);
        assertTrue(error.contains("expected at least 25: set spark.executorEnv.JAVA_HOME"), error);
    }
}
