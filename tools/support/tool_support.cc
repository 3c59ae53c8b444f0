#include "tools/support/tool_support.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "lib/ir/verifier.h"
#include "lib/proto/proto.h"
#include "lib/support/archive.h"
#include "lib/support/diagnostic.h"
#include "lib/support/file.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "parser/parser.h"
#include "tools/support/crash_handlers.h"
#include "tools/support/dump_folder.h"
#include "tools/support/version.h"

namespace hlo {
namespace {

bool output_failed = false;  // standard output could not be written, though somebody reads

std::string Shorten(std::string_view name) { return std::string(name == "-" ? "<stdin>" : name); }

// The length of a log prefix at `at`, `I0521 12:04:45.883483    1509 file.cc:186] `, or 0.
size_t LogPrefix(std::string_view line) {
  size_t at = 0;
  const auto digits = [&](size_t least) {
    const size_t start = at;
    while (at < line.size() && absl::ascii_isdigit(line[at])) ++at;
    return at - start >= least;
  };
  const auto take = [&](char c) {
    if (at >= line.size() || line[at] != c) return false;
    ++at;
    return true;
  };
  if (line.size() < 20 || std::string_view("IWEF").find(line[at++]) == std::string_view::npos)
    return 0;
  if (!digits(4) || !take(' ') || !digits(2) || !take(':') || !digits(2) || !take(':') ||
      !digits(2) || !take('.') || !digits(1) || !take(' '))
    return 0;
  while (take(' ')) {
  }
  if (!digits(1) || !take(' ')) return 0;
  at = line.find_first_of(":] ", at);
  if (at == std::string_view::npos || !take(':') || !digits(1) || !take(']')) return 0;
  take(' ');
  return at;
}

// Blanks out the log prefixes of a text cut from a log; columns stay those of the file.
void BlankLogPrefixes(std::string& text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const size_t prefix = LogPrefix(std::string_view(text).substr(at, end - at));
    for (size_t i = 0; i < prefix; ++i) text[at + i] = ' ';
    at = end + 1;
  }
}

// Lines that look like separators, but are none: `//-----`, `// ----`, `// ----- ` and the like.
absl::Status CheckSeparators(std::string_view text, const std::string& name) {
  int number = 0;
  for (std::string_view line : Split(text, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string_view trimmed = Trim(line);
    if (!trimmed.starts_with("//") || line == "// -----") continue;
    const std::string_view dashes = Trim(trimmed.substr(2));
    if (dashes.size() < 3 || dashes.find_first_not_of('-') != std::string_view::npos) continue;
    return Error("{}:{}: `{}` does not cut the file; a separator is a line `// -----`", name,
                 number, line);
  }
  return absl::OkStatus();
}

// What a saved executable was made of: it can be read like the module.
absl::StatusOr<std::string> ModuleOfExecutable(std::string_view bytes, const std::string& path) {
  absl::StatusOr<std::vector<ArchivePart>> parts = UnpackArchive(kExecutableArchive, bytes);
  if (!parts.ok()) return Error("{}: {}", Shorten(path), ToStd(parts.status().message()));
  for (const ArchivePart& part : *parts) {
    if (part.name == "module") return std::string(part.bytes);
  }
  return Error("{}: there is no module in it", Shorten(path));
}

}  // namespace

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  if (status.code() == absl::StatusCode::kInternal) return kExitInternal;
  if (status.code() == absl::StatusCode::kUnimplemented) return kExitUnsupported;
  if (status.code() == absl::StatusCode::kResourceExhausted) return kExitRunFailure;
  if (status.code() == absl::StatusCode::kUnavailable) return kExitRunFailure;
  if (status.code() == absl::StatusCode::kDataLoss) return kExitMismatch;
  return kExitBadInput;
}

int Worse(int exit_code, int other) {
  if (other == kExitInternal || exit_code == kExitOk) return other;
  return exit_code;
}

bool WriteStdout(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EPIPE && !output_failed) {
      output_failed = true;
      WriteStderr(fmt::format("error: cannot write standard output: {}\n", std::strerror(errno)));
    }
    if (n < 0) return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

void WriteStderr(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

namespace {
bool is_quiet = false;
}  // namespace

void SetQuiet(bool quiet) { is_quiet = quiet; }
void WriteNote(std::string_view text) {
  if (!is_quiet) WriteStderr(text);
}

absl::Status WithPlacesInText(const absl::Status& status, const Source& source) {
  std::vector<Diagnostic> all = DiagnosticsOf(status);
  for (Diagnostic& d : all) {
    if (!d.loc.known()) continue;
    const LineColumn at = source.Locate(d.loc.offset);
    d.message = fmt::format("{}:{}:{}: {}", source.name(), at.line, at.column, d.message);
    d.loc = {};
  }
  return StatusOf(status.code(), all);
}

int ReportError(const absl::Status& status, const Source* source) {
  std::string text = Render(status, source);
  if (status.code() == absl::StatusCode::kInternal)
    text += "note: this is a bug of the tool, not of the input\n";
  WriteStderr(text);
  return ExitCodeOf(status);
}

int ReportToolError(std::string_view program, const absl::Status& status) {
  WriteStderr(fmt::format("{}: {}", program, Render(status, nullptr)));
  return ExitCodeOf(status);
}

int ToolMain(Flags& flags, int argc, char** argv, const std::function<int()>& body) {
  InstallCrashHandlers(flags.program());
  std::string help, completion;
  bool version = false, man = false, help_all = false, quiet = false, strict = false,
       print_options = false;
  constexpr std::string_view kShort = "short", kAll = "all";
  flags.Add("help,h", &help, FlagValues::Any(), "[short|SECTION]");
  flags.Add("help-all", &help_all);
  flags.Add("quiet,q", &quiet);
  flags.Add("strict-flags", &strict);
  flags.Add("print-options", &print_options);
  flags.Add("version", &version);
  bool verbose = false;  // where a tool has no more to say
  if (!flags.has("v")) flags.Add("v,verbose", &verbose);
  flags.Add("completion", &completion, FlagValues::Words({"bash"}), "bash");
  flags.Add("man", &man);
  if (const absl::Status status = flags.Parse(argc, argv); !status.ok()) {
    ReportToolError(flags.program(), status);
    return kExitUsage;
  }
  if (!help.empty() || help_all || version || man || print_options || !completion.empty()) {
    std::string text;
    if (print_options) {
      text = flags.GivenOptions();
    } else if (help_all) {
      text = flags.Help("", /*all=*/true);
    } else if (help.starts_with("xla_") || help.starts_with("xla-")) {
      text = flags.XlaFlagHelp(help);
    } else if (!help.empty()) {
      text = help == kAll ? flags.Help("", /*all=*/true) : flags.Help(help == kShort ? "" : help);
      if (text.empty()) text = flags.FlagHelp(help);
    } else if (version) {
      text = fmt::format("{} {}\nHLO text as of XLA {}\n{}", flags.program(), ProgramVersion(),
                         XlaSyntaxDate(), flags.version_notes());
    } else if (man) {
      text = flags.ManPage();
    } else if (completion == "bash") {
      text = flags.BashCompletion();
    }
    if (text.empty()) {
      ReportToolError(flags.program(),
                      help.empty() ? Error("no completion for `{}`, only for `bash`", completion)
                                   : Error("the help has no section and no flag `{}`{}; see --help",
                                           help, flags.NearHelpWord(help)));
      return kExitUsage;
    }
    WriteStdout(text);
    return output_failed ? kExitBadInput : kExitOk;
  }
  SetQuiet(quiet);
  if (strict && !flags.warnings().empty()) {
    ReportToolError(flags.program(), Error("{}", flags.warnings()[0]));
    return kExitUsage;
  }
  for (const std::string& warning : flags.warnings())
    WriteNote(fmt::format("{}: warning: {}\n", flags.program(), warning));
  const int exit_code = body();
  return exit_code == kExitOk && output_failed ? kExitBadInput : exit_code;
}

absl::Status OneOf(std::string_view flag, std::string_view word,
                   std::initializer_list<std::string_view> words) {
  return OneOf(flag, word, std::vector<std::string_view>(words));
}

absl::Status OneOf(std::string_view flag, std::string_view word,
                   const std::vector<std::string_view>& all) {
  for (std::string_view known : all) {
    if (known == word) return absl::OkStatus();
  }
  return Error("`--{}` expects {}, found `{}`{}", flag, Join(all, ", "), word,
               DidYouMean(word, all));
}

std::string SingleQuoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string ShellQuoted(const std::string& word) {
  if (const size_t equals = word.find('='); word.starts_with("--") && equals != std::string::npos)
    return word.substr(0, equals + 1) + ShellQuoted(word.substr(equals + 1));
  constexpr std::string_view kPlain = "_-./=,:@%+";
  bool is_plain = !word.empty();
  for (const char c : word)
    is_plain = is_plain && (absl::ascii_isalnum(c) || kPlain.find(c) != std::string_view::npos);
  if (is_plain) return word;
  return SingleQuoted(word);
}

absl::StatusOr<std::vector<InputText>> ReadInputs(const std::string& path, bool split) {
  // `a.hlo/../b.hlo`, as test suites write it: the way through a file exists only in the name.
  if (access(path.c_str(), F_OK) != 0 && errno == ENOTDIR) {
    const std::string plain = std::filesystem::path(path).lexically_normal();
    if (plain != path) return ReadInputs(plain, split);
  }
  if (std::error_code error; std::filesystem::is_directory(path, error)) {
    ASSIGN_OR_RETURN(const std::string file, ModuleOfDump(path));
    WriteNote(fmt::format("note: of {} reading {}\n", path, file));
    return ReadInputs(file, split);
  }
  ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  if (IsArchive(kExecutableArchive, text)) {
    ASSIGN_OR_RETURN(text, ModuleOfExecutable(text, path));
  } else if (IsSerialized(text)) {
    absl::StatusOr<std::string> printed = TextOfSerialized(text);
    if (!printed.ok()) {
      // Of a message as text, line and column come first.
      const std::string_view message = ToStd(printed.status().message());
      const bool has_line = !message.empty() && message[0] >= '0' && message[0] <= '9';
      return Error("{}:{}{}", Shorten(path), has_line ? "" : " ", message);
    }
    text = *std::move(printed);
  }
  BlankLogPrefixes(text);
  if (split) RETURN_IF_ERROR(CheckSeparators(text, Shorten(path)));
  const std::vector<SplitPart> parts = SplitInputFile(text);
  std::vector<InputText> inputs;
  if (parts.size() == 1) {
    inputs.push_back({path, std::make_shared<const Source>(Shorten(path), std::move(text))});
    return inputs;
  }
  if (!split) {
    return Error("{}:{}: '// -----' separator found in input, but --split-input-file not specified",
                 Shorten(path), parts[1].first_line - 1);
  }
  for (const SplitPart& part : parts) {
    // Blank lines before the part keep the line numbers of the file.
    std::string padded(static_cast<size_t>(part.first_line - 1), '\n');
    padded += part.text;
    inputs.push_back({path, std::make_shared<const Source>(Shorten(path), std::move(padded))});
  }
  return inputs;
}

VerifierOptions Runnable() {
  VerifierOptions options;
  options.allow_mixed_precision = false;
  return options;
}

absl::StatusOr<std::unique_ptr<Module>> LoadModule(const InputText& input,
                                                   const VerifierOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<Module> module, ParseModule(input.source));
  RETURN_IF_ERROR(Verify(*module, options));
  return module;
}

std::string ReproducerFolder() {
  for (const char* name : {"HLO_REPRO_DIR", "TMPDIR"}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != 0) return value;
  }
  return "/tmp";
}

}  // namespace hlo
