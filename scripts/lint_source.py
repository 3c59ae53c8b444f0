"""What the repository check says of the text of a C++ file: long functions, `default:` in switches over the project's
enumerations, wide comments, the names that belong to the file alone.

Works on clang-formatted sources with a scanner of its own (strings and comments blanked out, braces followed), so that it
takes no compiler. Standard library only.
"""

import re

MAX_FUNCTION_LINES = 80
MAX_COMMENT_COLUMNS = 100

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
SCOPE = re.compile(r'\b(?:namespace|class|struct|union|enum|extern)\b')
SWITCH = re.compile(r'\bswitch \(')


def blanked(text):
    """The text with comments and literals as blanks, line for line and column for column."""
    return TOKEN.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)


def closing(code, start):
    """The position of the brace that closes the one at `start`."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, start):
        depth += 1 if match.group(0) == "{" else -1
        if depth == 0:
            return match.start()
    return len(code)


def functions(code):
    """(first line, last line) of each function defined in a namespace or class; lambdas and locals are part of theirs."""
    position, header = 0, 0
    pattern = re.compile(r"[{};]|^#.*?(?<!\\)$|\b(?:public|private|protected):", re.MULTILINE | re.DOTALL)
    while match := pattern.search(code, position):
        position = match.end()
        if match.group(0) == "{":
            text = code[header:match.start()]
            if "(" in text and not re.search(r"^\s*(?:namespace|extern)\b", text) or not SCOPE.search(text):
                end = closing(code, match.start())
                if "(" in text:
                    first = header + len(text) - len(text.lstrip())
                    yield code.count("\n", 0, first) + 1, code.count("\n", 0, end) + 1
                position = end + 1
        header = position


ENUM = re.compile(r"\benum class (\w+)")


ENUM_BODY = re.compile(r"\benum (class )?\w+[^;{()]*\{([^}]*)\}")


def enumerations(code):
    """Names of the `enum class`es that a source defines."""
    return set(ENUM.findall(code))


def enumerators(code, scoped=True):
    """Names of the values of the `enum class`es, or of the plain enumerations, that a source defines; not of those that are in a
    table."""
    return {value for is_class, body in ENUM_BODY.findall(code) if bool(is_class) == scoped for value in re.findall(r"(?:^|,)\s*(k[A-Z]\w*)", body)}


def without_switches(code):
    """The code with what is in the braces of its switches as blanks, line for line and column for column."""
    while match := SWITCH.search(code):
        start = code.index("{", match.end())
        end = closing(code, start)
        inner = re.sub(r"[^\n]", " ", code[match.start():end + 1])
        code = code[:match.start()] + inner + code[end + 1:]
    return code


def defaults(code, enums, values=frozenset()):
    """Lines of `default:` in switches over one of `enums`, whose values are spelled kValue; or kValue alone, after `using enum`,
    where it is one of `values` and the source has no number of that name. Switches over numbers, characters and the enumerations
    of others are left alone."""
    names = "|".join(sorted(enums))
    used = re.search(rf"\busing enum (?:\w+::)*(?:{names});", code)
    numbers = enumerators(code, scoped=False)

    def is_ours(body):
        if re.search(rf"\bcase (?:\w+::)*(?:{names})::k[A-Z]", body):
            return True
        plain = set(re.findall(r"\bcase (k[A-Z]\w*):", body)) - numbers
        return bool(plain if used else plain & values)

    for match in SWITCH.finditer(code):
        body_start = code.index("{", match.end()) + 1
        body = without_switches(code[body_start:closing(code, body_start - 1)])
        if (found := re.search(r"\bdefault:", body)) and is_ours(body):
            yield code.count("\n", 0, body_start + found.start()) + 1


def wide_comments(text):
    """Lines of prose over the limit. What is indented after `//` is an example, a grammar or a table and may be wider."""
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MAX_COMMENT_COLUMNS and re.match(r"\s*// ?\S", line):
            yield number


LOCAL_TYPE = re.compile(r"^(?:template <[^\n]*>\n)?(?:class|struct|enum class|enum|union) (\w+)[^;{]*\{", re.M)
LOCAL_VALUE = re.compile(r"^(?:inline |constexpr |const |thread_local |static )+(?!struct\b)[^;{(=]*?\b(\w+)(?:\[[^\]]*\])? ?[={]", re.M)
LOCAL_FUNCTION = re.compile(r"^(?!template|using|return)[\w:<>,&*\[\] ]+[ *&](\w+)\(([^;{}]*?)\)(?: \{|;)", re.M)


def local_names(code):
    """(name, line) of what is declared in namespaces without name: types, values, and functions with their parameters,
    which may be overloaded. Not `using`, which may be said twice. Code with blanked comments, see blanked()."""
    for match in re.finditer(r"^namespace \{", code, re.M):
        start, end = match.end(), closing(code, match.end() - 1)
        depth, text = 0, []
        for character in code[start:end]:
            depth -= character == "}"
            text.append(character if depth == 0 or character == "\n" else " ")
            depth += character == "{"
        outer = "".join(text)
        for pattern in (LOCAL_TYPE, LOCAL_VALUE, LOCAL_FUNCTION):
            for found in pattern.finditer(outer):
                name = found[1]
                if pattern is LOCAL_FUNCTION:
                    name += f"({parameter_types(found[2])})"
                yield name, code.count("\n", 0, start + found.start(1)) + 1


def parameter_types(text):
    """The types of a list of parameters: no names, no defaults."""
    parameters, depth = [""], 0
    for character in text:
        depth += (character in "<([") - (character in ">)]")
        if character == "," and depth == 0:
            parameters.append("")
        else:
            parameters[-1] += character
    plain = [" ".join(parameter.split("=")[0].split()) for parameter in parameters]
    return ", ".join(re.sub(r"(?<=[\w>&*\]])([ &*])\w+$", r"\1", parameter).strip() for parameter in plain)


PUBLIC_FUNCTION = re.compile(r"^(?=\w)(?!template|using|return|class|struct|enum|namespace)[\w:<>,&*\[\] ]+[ *&](\w+)\(", re.M)


def public_functions(code):
    """Names of the functions that a header declares outside of classes. Code with blanked comments."""
    return {match[1] for match in PUBLIC_FUNCTION.finditer(code)}


def calls(code, name):
    """Whether a source calls a function of this name that it does not define."""
    return re.search(rf"(?<![\w.:>]){name}\(", code) and not re.search(rf"^\w.*[ &*]{name}\(", code, re.M)
