package io.multihead.house.bad.gemm;

import io.multihead.house.bad.reference.Specification;
import java.io.File;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.function.Consumer;
import java.util.logging.Logger;
import jdk.incubator.vector.FloatVector;
import org.jspecify.annotations.Nullable;

/** Code that is allowed in one package only, one class for each rule; never run. */
public final class Offences {
    private Offences() {}

    /** Calls the specification. */
    public static final class Calls {
        private Calls() {}

        static void use() {
            Specification.use();
        }
    }

    /** Uses vectors, though only as elements of an array. */
    public static final class Vectors {
        private FloatVector @Nullable [] vectors;

        private Vectors() {}

        boolean empty() {
            return vectors == null;
        }
    }

    /** Needs a module other than java.base. */
    public static final class Logs {
        private Logs() {}

        static @Nullable Logger logger() {
            return null;
        }
    }

    /** Computes a function whose last bit depends on the processor. */
    public static final class Rounds {
        private Rounds() {}

        static double root() {
            return Math.cbrt(2);
        }
    }

    /** Sets a property of the whole JVM. */
    public static final class Globals {
        private Globals() {}

        static void set() {
            System.setProperty("multihead", "bad");
        }
    }

    /** Loads native code, through a method reference. */
    @SuppressWarnings("restricted")
    public static final class Loads {
        private Loads() {}

        static Consumer<String> loader() {
            return Runtime.getRuntime()::loadLibrary;
        }
    }

    /** Gives a memory segment another size. */
    @SuppressWarnings("restricted")
    public static final class Forges {
        private Forges() {}

        static MemorySegment any() {
            return MemorySegment.NULL.reinterpret(8, java.lang.foreign.Arena.global(), null);
        }
    }

    /** Uses the network, though only an address. */
    public static final class Connects {
        private Connects() {}

        static String host(URI address) {
            return address.getHost();
        }
    }

    /** Listens to the network through a channel. */
    public static final class Listens {
        private Listens() {}

        static Object channel() throws IOException {
            return ServerSocketChannel.open();
        }
    }

    /** Leaves a temporary file behind. */
    public static final class Litters {
        private Litters() {}

        static File file() throws IOException {
            return File.createTempFile("multihead", null);
        }
    }

    /** Creates a temporary directory, and a file in a lambda. */
    public static final class Scatters {
        private Scatters() {}

        static Path directory() throws IOException {
            return Files.createTempDirectory("multihead");
        }

        static Callable<Path> file() {
            return () -> Files.createTempFile("multihead", null);
        }
    }

    /** Holds a pool in a static field. The field's type is a subtype of Executor. */
    public static final class Keeps {
        private static @Nullable ExecutorService pool;

        private Keeps() {}

        static boolean kept() {
            return pool != null;
        }
    }

    /** Starts threads outside the package that may start them. */
    public static final class Starts {
        private Starts() {}

        static void start() {
            Thread.ofVirtual().start(() -> {});
        }
    }

    /** Uses the common pool. */
    public static final class Borrows {
        private Borrows() {}

        static long count() {
            return List.of(1).stream().parallel().count();
        }
    }
}
