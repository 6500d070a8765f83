package io.multihead.house;

import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.IdentifierTree;
import com.sun.source.tree.ImportTree;
import com.sun.source.tree.MemberSelectTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.TreeScanner;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The names in a class's code that belong to its own package. The compiler inlines constants, and the class file has no
 * trace of constants in labels of a switch, in annotations and in concatenations of text. Only the source has all
 * names. Comments are ignored.
 */
final class Mentions {
    private Mentions() {}

    /** The full names of the outermost classes in the same package that each outermost class of these sources names. */
    static Map<String, Set<String>> below(Path sources) {
        List<Sources.Parsed> files = Sources.below(sources);
        Map<String, Set<String>> classes = new HashMap<>();
        for (Sources.Parsed file : files) {
            file.unit().getTypeDecls().forEach(type -> classes.computeIfAbsent(
                            packageOf(file.unit()), name -> new HashSet<>())
                    .add(simpleName(type)));
        }
        Map<String, Set<String>> mentions = new HashMap<>();
        for (Sources.Parsed file : files) {
            String room = packageOf(file.unit());
            for (Tree type : file.unit().getTypeDecls()) {
                Finder finder = new Finder(room, classes.getOrDefault(room, Set.of()));
                finder.scan(file.unit().getImports(), null);
                finder.scan(type, null);
                mentions.put(room + "." + simpleName(type), finder.found);
            }
        }
        return mentions;
    }

    private static String packageOf(CompilationUnitTree unit) {
        return String.valueOf(unit.getPackageName());
    }

    private static String simpleName(Tree type) {
        return ((ClassTree) type).getSimpleName().toString();
    }

    private static final class Finder extends TreeScanner<@Nullable Void, @Nullable Void> {
        private final String room;
        private final Set<String> classes;
        private final Set<String> found = new TreeSet<>();

        Finder(String room, Set<String> classes) {
            this.room = room;
            this.classes = classes;
        }

        @Override
        public @Nullable Void visitIdentifier(IdentifierTree tree, @Nullable Void nothing) {
            add(tree.getName().toString());
            return null;
        }

        @Override
        public @Nullable Void visitMemberSelect(MemberSelectTree tree, @Nullable Void nothing) {
            if (tree.getExpression().toString().equals(room)) {
                add(tree.getIdentifier().toString());
            }
            return super.visitMemberSelect(tree, null);
        }

        @Override
        public @Nullable Void visitImport(ImportTree tree, @Nullable Void nothing) {
            return scan(tree.getQualifiedIdentifier(), null);
        }

        private void add(String name) {
            if (classes.contains(name)) {
                found.add(room + "." + name);
            }
        }
    }
}
