package io.multihead.house;

import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;

/** Runs the compiled programs of pages one after another; the arguments are their folders. */
final class PagePrograms {
    /** Begins the line before the output of a program; its folder follows. */
    static final String BEGIN = "program ";

    /** Begins the line after the output of a program that failed. */
    static final String FAILED = "failed: ";

    private PagePrograms() {}

    /** Writes the name of the class to run into a folder. */
    static void name(Path folder, String name) throws IOException {
        Files.writeString(folder.resolve("name"), name);
    }

    public static void main(String[] folders) throws Exception {
        for (String folder : folders) {
            System.out.println(BEGIN + folder);
            try (URLClassLoader loader =
                    new URLClassLoader(new URL[] {Path.of(folder).toUri().toURL()})) {
                run(loader.loadClass(Files.readString(Path.of(folder, "name"))));
                System.out.println();
            } catch (InvocationTargetException thrown) {
                thrown.getCause().printStackTrace();
                System.out.println(FAILED + thrown.getCause());
            }
        }
    }

    private static void run(Class<?> type) throws ReflectiveOperationException {
        if (type.getName().equals(Snippets.STATEMENTS)) {
            Constructor<?> constructor = type.getDeclaredConstructor();
            constructor.setAccessible(true);
            Method run = type.getDeclaredMethod("run");
            run.setAccessible(true);
            run.invoke(constructor.newInstance());
        } else {
            type.getMethod("main", String[].class).invoke(null, (Object) new String[0]);
        }
    }
}
