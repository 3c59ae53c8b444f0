#include "backends/executable_file.h"

#include <utility>
#include <vector>

#include "backends/registry.h"
#include "lib/ir/any_instruction.h"
#include "lib/ir/printer.h"
#include "lib/ops/attrs.h"
#include "lib/support/archive.h"
#include "lib/support/json_value.h"
#include "lib/support/read_number.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo {

// What decides which code is made of a module (scripts/cmake/HloCodeVersion.cmake).
std::string_view CodeVersion();

namespace {

constexpr std::string_view kDenormalWords[] = {"keep", "flush"};  // by Denormals

// "9f86d081884c7d65 kernel.fusion\n" for each function.
std::string FunctionLines(const CodeStore::Object& object) {
  std::string lines;
  for (const CodeStore::Function& function : object.functions)
    lines += fmt::format("{:016x} {}\n", function.key, function.symbol);
  return lines;
}

absl::StatusOr<std::vector<CodeStore::Function>> FunctionsOf(std::string_view lines) {
  std::vector<CodeStore::Function> functions;
  for (const std::string_view line : Split(lines, '\n')) {
    if (line.empty()) continue;
    const size_t blank = line.find(' ');
    const auto key = ReadNumber<decltype(CodeStore::Function::key)>(line.substr(0, blank), 16);
    if (blank == std::string_view::npos || !key) return Error("`{}` names no function", line);
    CodeStore::Function function;
    function.key = *key;
    function.symbol = line.substr(blank + 1);
    functions.push_back(std::move(function));
  }
  return functions;
}

// "rng.1 3\n" for each source of random numbers.
std::string StreamLines(const Module& module) {
  std::string lines;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() == Opcode::kRng) {
        lines += fmt::format("{} {}\n", instruction->name(), instruction->attrs<RngAttrs>().stream);
      }
    }
  }
  return lines;
}

absl::StatusOr<absl::flat_hash_map<std::string, int64_t>> StreamsOf(std::string_view lines) {
  absl::flat_hash_map<std::string, int64_t> streams;
  for (const std::string_view line : Split(lines, '\n')) {
    if (line.empty()) continue;
    const size_t blank = line.find(' ');
    const std::optional<int64_t> number = blank == std::string_view::npos
                                              ? std::nullopt
                                              : ReadNumber<int64_t>(line.substr(blank + 1));
    if (!number) return Error("`{}` names no stream", line);
    streams[std::string(line.substr(0, blank))] = *number;
  }
  return streams;
}

// The part `about`: who wrote the file, and for what.
struct About {
  std::string version, code_version, target;
};

absl::StatusOr<About> ReadAbout(std::string_view json, SavedExecutable& saved) {
  ASSIGN_OR_RETURN(const JsonDocument document,
                   ParseJson(std::make_shared<const Source>("about", std::string(json))));
  About about;
  std::string denormals;
  const std::pair<std::string_view, std::string*> texts[] = {
      {"version", &about.version},
      {"code_version", &about.code_version},
      {"target", &about.target},
      {"platform", &saved.platform},
      {"cpu_features", &saved.cpu_features},
      {"gpu_target", &saved.gpu_target},
      {"denormals", &denormals},
  };
  for (const auto& [key, text] : texts) {
    ASSIGN_OR_RETURN(*text, document.root.GetString(key));
  }
  saved.denormals = denormals == kDenormalWords[1] ? Denormals::kFlush : Denormals::kKeep;
  return about;
}

}  // namespace

void SavedExecutable::Restore(Module& module) const {
  for (Instruction* instruction : AllInstructions(module)) {
    if (instruction->opcode() != Opcode::kRng) continue;
    const auto it = streams.find(std::string(instruction->name()));
    if (it == streams.end()) continue;
    RngAttrs attrs = instruction->attrs<RngAttrs>();
    attrs.stream = it->second;
    instruction->SetAttrs(std::move(attrs));
  }
}

void SavedExecutable::SetOptions(CompileOptions& options) const {
  options.run_passes = false;
  options.denormals = denormals;
  options.cpu_features = cpu_features;
  options.gpu.target = gpu_target;
  options.code_store = code.get();
}

absl::StatusOr<std::string> PackExecutable(const Executable& executable, const Backend& backend,
                                           const CompileOptions& options) {
  RET_CHECK(options.code_store != nullptr && !options.code_store->is_closed(),
            "nobody has kept the code");
  ASSIGN_OR_RETURN(const std::string target, backend.CodeTarget(options));
  const Denormals denormals = options.denormals.value_or(DefaultDenormals(backend.name()));
  const std::string about = fmt::format(
      R"({{"version":{},"code_version":{},"platform":{},"target":{},"cpu_features":{},"gpu_target":{},"denormals":{}}})"
      "\n",
      JsonQuoted(HLO_VERSION), JsonQuoted(CodeVersion()), JsonQuoted(backend.name()),
      JsonQuoted(target), JsonQuoted(options.cpu_features), JsonQuoted(options.gpu.target),
      JsonQuoted(kDenormalWords[static_cast<int>(denormals)]));
  PrintOptions print = PrintOptions::Default();
  print.large_constants = print.lossless = true;
  const std::string text = ToText(executable.module(), print);
  const std::string streams = StreamLines(executable.module());
  std::vector<ArchivePart> parts = {{"about", about}, {"module", text}, {"streams", streams}};
  const std::vector<CodeStore::Object>& objects = options.code_store->objects();
  std::vector<std::string> lines;
  lines.reserve(objects.size());
  for (const CodeStore::Object& object : objects) {
    lines.push_back(FunctionLines(object));
    parts.push_back({"functions", lines.back()});
    parts.push_back({"code", object.bytes});
  }
  return PackArchive(kExecutableArchive, parts);
}

absl::StatusOr<SavedExecutable> UnpackExecutable(std::string_view bytes) {
  ASSIGN_OR_RETURN(const std::vector<ArchivePart> parts, UnpackArchive(kExecutableArchive, bytes));
  SavedExecutable saved;
  About about;
  std::vector<CodeStore::Object> objects;
  for (const ArchivePart& part : parts) {
    if (part.name == "about") {
      ASSIGN_OR_RETURN(about, ReadAbout(part.bytes, saved));
    } else if (part.name == "module") {
      saved.text = part.bytes;
    } else if (part.name == "streams") {
      ASSIGN_OR_RETURN(saved.streams, StreamsOf(part.bytes));
    } else if (part.name == "functions") {
      ASSIGN_OR_RETURN(std::vector<CodeStore::Function> functions, FunctionsOf(part.bytes));
      objects.push_back({std::move(functions), ""});
    } else if (part.name == "code" && !objects.empty()) {
      objects.back().bytes = std::string(part.bytes);
    }
  }
  ASSIGN_OR_RETURN(const Backend* backend, FindBackend(saved.platform));
  CompileOptions options;
  saved.SetOptions(options);
  absl::StatusOr<std::string> target = backend->CodeTarget(options);
  if (!target.ok() || *target != about.target) {
    return Error("it is for another processor: {}; this one is: {}", about.target,
                 target.ok() ? *target : std::string(target.status().message()));
  }
  // Without code in it, the module is all there is.
  if (!about.target.empty() && about.code_version != CodeVersion()) {
    return Error(
        "it was written by another build ({}, code {}; this one is {}, code {}); save it again "
        "from the module",
        about.version, about.code_version, HLO_VERSION, CodeVersion());
  }
  if (!about.target.empty()) saved.code = std::make_unique<CodeStore>(std::move(objects));
  return saved;
}

}  // namespace hlo
