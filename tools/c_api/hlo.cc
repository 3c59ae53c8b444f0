#include "tools/c_api/hlo.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/executable_file.h"
#include "backends/registry.h"
#include "lib/ir/printer.h"
#include "lib/ir/verifier.h"
#include "lib/ir/verify_meaning.h"
#include "lib/proto/proto.h"
#include "lib/support/archive.h"
#include "lib/support/file.h"
#include "lib/support/read_number.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "parser/parser.h"
#include "passes/pass_manager.h"
#include "tools/run/inputs.h"
#include "tools/support/runnable.h"
#include "tools/support/tool_support.h"
#include "tools/support/version.h"

struct hlo_error {
  int code;
  std::string message;
};

struct hlo_module {
  std::unique_ptr<hlo::Module> module;
};

struct hlo_value {
  hlo::Literal literal;
  std::vector<hlo_value> elements;  // of tuples
};

struct hlo_program {
  hlo::Backend* backend = nullptr;
  hlo::CompileOptions options;
  std::unique_ptr<hlo::CodeStore> code;
  std::string file;  // what it was loaded from: saving writes it again
  std::shared_ptr<const hlo::Source> source;
  std::unique_ptr<hlo::Executable> executable;
  // States of earlier runs that nobody uses.
  mutable std::mutex mutex;
  mutable std::vector<std::unique_ptr<hlo::ExecutionState>> idle;
};

namespace hlo {
namespace {

hlo_error* ErrorOf(const absl::Status& status, const Source* source = nullptr) {
  return new hlo_error{ExitCodeOf(status), Render(status, source)};
}

// The border to callers that know no exceptions: `body` returns a status.
template <class Fn>
hlo_error* Guarded(const Source* const* source, const Fn& body) {
  try {
    const absl::Status status = body();
    if (status.ok()) return nullptr;
    return ErrorOf(status, source == nullptr ? nullptr : *source);
  } catch (const std::bad_alloc&) {
    return new hlo_error{HLO_RUN_FAILURE, "error: out of memory\n"};
  } catch (const std::exception& error) {
    return new hlo_error{HLO_INTERNAL, fmt::format("error: {}\n", error.what())};
  }
}
template <class Fn>
hlo_error* Guarded(const Fn& body) {
  return Guarded(nullptr, body);
}

absl::Status NeedsPointer(const void* pointer, std::string_view name) {
  return pointer != nullptr ? absl::OkStatus() : Error("argument `{}` is NULL", name);
}

absl::Status GiveText(std::string_view text, char** result) {
  RETURN_IF_ERROR(NeedsPointer(result, "text"));
  char* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) return absl::ResourceExhaustedError("out of memory");
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = 0;
  *result = copy;
  return absl::OkStatus();
}

hlo_value* NewValue(Literal literal) {
  auto value = std::make_unique<hlo_value>();
  const auto fill = [](const auto& self, Literal whole, hlo_value& into) -> void {
    for (const Literal& element : whole.elements())
      self(self, element, into.elements.emplace_back());
    into.literal = std::move(whole);
  };
  fill(fill, std::move(literal), *value);
  return value.release();
}

hlo_error* ReadModule(std::shared_ptr<const Source> source, hlo_module** module) {
  const Source* const place = source.get();
  return Guarded(&place, [&]() -> absl::Status {
    RETURN_IF_ERROR(NeedsPointer(module, "module"));
    ASSIGN_OR_RETURN(std::unique_ptr<Module> read, ParseModule(source));
    RETURN_IF_ERROR(Verify(*read, VerifierOptions()));
    *module = new hlo_module{std::move(read)};
    return absl::OkStatus();
  });
}

template <class T>
absl::Status ReadNumberOption(std::string_view name, std::string_view text, T& number) {
  return ReadNumberTo(text, number) ? absl::OkStatus()
                                    : Error("option `{}` expects a number, found `{}`", name, text);
}

// The options of programs: how each is read from its word.
struct OptionRow {
  std::string_view name;
  absl::Status (*read)(std::string_view name, std::string_view text, CompileOptions& options);
};
constexpr OptionRow kOptions[] = {
    {"threads",
     [](std::string_view name, std::string_view text, CompileOptions& options) {
       return ReadNumberOption(name, text, options.threads);
     }},
    {"seed", [](std::string_view name, std::string_view text,
                CompileOptions& options) { return ReadNumberOption(name, text, options.seed); }},
    {"cpu-features",
     [](std::string_view, std::string_view text, CompileOptions& options) {
       options.cpu_features = std::string(text);
       return absl::OkStatus();
     }},
    {"target",
     [](std::string_view, std::string_view text, CompileOptions& options) {
       options.gpu.target = std::string(text);
       return absl::OkStatus();
     }},
    {"denormals",
     [](std::string_view name, std::string_view text, CompileOptions& options) {
       if (text != "flush" && text != "keep")
         return Error("option `{}` expects flush or keep, found `{}`", name, text);
       options.denormals = text == "flush" ? Denormals::kFlush : Denormals::kKeep;
       return absl::OkStatus();
     }},
    {"run-passes",
     [](std::string_view name, std::string_view text, CompileOptions& options) {
       if (text != "true" && text != "false")
         return Error("option `{}` expects true or false, found `{}`", name, text);
       options.run_passes = text == "true";
       return absl::OkStatus();
     }},
};

absl::Status ReadOptions(const char* words, CompileOptions& options) {
  for (const std::string_view word : Split(words == nullptr ? "" : words, ' ')) {
    if (word.empty()) continue;
    const size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(0, equals);
    const OptionRow* found = nullptr;
    std::vector<std::string_view> names;
    for (const OptionRow& row : kOptions) {
      names.push_back(row.name);
      if (row.name == name) found = &row;
    }
    if (found == nullptr) {
      return Error("unknown option `{}`{}; there are {}", name, DidYouMean(name, names),
                   Join(names, ", "));
    }
    RETURN_IF_ERROR(found->read(
        name, equals == word.size() ? std::string_view("true") : word.substr(equals + 1), options));
  }
  return absl::OkStatus();
}

absl::Status CompileInto(std::unique_ptr<Module> module, hlo_program& program) {
  program.source = module->source();
  RETURN_IF_ERROR(VerifyRunnable(*module));
  ASSIGN_OR_RETURN(program.executable,
                   program.backend->Compile(std::move(module), program.options));
  return absl::OkStatus();
}

absl::Status Load(std::string_view path, const char* options, hlo_program& program) {
  absl::StatusOr<SavedExecutable> saved = UnpackExecutable(program.file);
  if (!saved.ok()) return Error("{}: {}", path, std::string(saved.status().message()));
  ASSIGN_OR_RETURN(program.backend, FindBackend(saved->platform));
  RETURN_IF_ERROR(ReadOptions(options, program.options));
  saved->SetOptions(program.options);
  program.source = std::make_shared<const Source>(std::string(path), std::string(saved->text));
  ASSIGN_OR_RETURN(std::unique_ptr<Module> module, ParseModule(program.source));
  RETURN_IF_ERROR(Verify(*module, VerifierOptions()));
  saved->Restore(*module);
  program.code = std::move(saved->code);
  return CompileInto(std::move(module), program);
}

absl::Status RunProgram(const hlo_program& program, absl::Span<const hlo_value* const> arguments,
                        hlo_value** result) {
  std::vector<Literal> literals;
  for (const hlo_value* argument : arguments) {
    RETURN_IF_ERROR(NeedsPointer(argument, "arguments[i]"));
    literals.push_back(argument->literal);
  }
  RETURN_IF_ERROR(CheckArguments(*program.executable->module().entry(), literals));
  std::unique_ptr<ExecutionState> state;
  {
    const std::lock_guard<std::mutex> lock(program.mutex);
    if (!program.idle.empty()) {
      state = std::move(program.idle.back());
      program.idle.pop_back();
    }
  }
  if (state == nullptr) {
    ASSIGN_OR_RETURN(state, program.executable->MakeState());
  }
  ASSIGN_OR_RETURN(Literal value, state->Execute(literals, RunOptions()));
  *result = NewValue(std::move(value));
  const std::lock_guard<std::mutex> lock(program.mutex);
  program.idle.push_back(std::move(state));
  return absl::OkStatus();
}

}  // namespace
}  // namespace hlo

using hlo::Guarded;

const char* hlo_version() { return hlo::ProgramVersion().data(); }

const char* hlo_platforms() {
  static const auto& names = *new std::string([] {
    std::vector<std::string_view> all;
    for (const hlo::PlatformInfo& info : hlo::AllBackends()) all.push_back(info.name);
    return hlo::Join(all, ",");
  }());
  return names.c_str();
}

void hlo_string_free(char* text) { std::free(text); }

int hlo_error_code(const hlo_error* error) { return error == nullptr ? 0 : error->code; }
const char* hlo_error_message(const hlo_error* error) {
  return error == nullptr ? "" : error->message.c_str();
}
void hlo_error_free(hlo_error* error) { delete error; }

hlo_error* hlo_module_parse(const char* text, size_t length, const char* name,
                            hlo_module** module) {
  if (text == nullptr) return hlo::ErrorOf(hlo::NeedsPointer(text, "text"));
  return hlo::ReadModule(std::make_shared<const hlo::Source>(name == nullptr ? "<text>" : name,
                                                             std::string(text, length)),
                         module);
}

hlo_error* hlo_module_read(const char* path, hlo_module** module) {
  std::shared_ptr<const hlo::Source> source;
  hlo_error* const error = Guarded([&]() -> absl::Status {
    RETURN_IF_ERROR(hlo::NeedsPointer(path, "path"));
    ASSIGN_OR_RETURN(const std::vector<hlo::InputText> inputs, hlo::ReadInputs(path, false));
    source = inputs.front().source;
    return absl::OkStatus();
  });
  return error != nullptr ? error : hlo::ReadModule(std::move(source), module);
}

hlo_error* hlo_module_clone(const hlo_module* module, hlo_module** clone) {
  return Guarded([&] {
    *clone = new hlo_module{module->module->Clone()};
    return absl::OkStatus();
  });
}

hlo_error* hlo_module_verify(const hlo_module* module) {
  const hlo::Source* const source = module->module->source().get();
  return Guarded(&source, [&] { return hlo::Verify(*module->module, hlo::VerifierOptions()); });
}

hlo_error* hlo_module_print(const hlo_module* module, char** text) {
  return Guarded([&] {
    hlo::PrintOptions options = hlo::PrintOptions::HloOpt();
    options.large_constants = true;
    return hlo::GiveText(hlo::ToText(*module->module, options), text);
  });
}

hlo_error* hlo_module_serialize(const hlo_module* module, char** bytes, size_t* size) {
  return Guarded([&]() -> absl::Status {
    RETURN_IF_ERROR(hlo::NeedsPointer(size, "size"));
    ASSIGN_OR_RETURN(const std::string all,
                     hlo::Serialize(*module->module, hlo::SerialForm::kBinary, hlo::kParseText));
    RETURN_IF_ERROR(hlo::GiveText(all, bytes));
    *size = all.size();
    return absl::OkStatus();
  });
}

hlo_error* hlo_module_run_passes(hlo_module* module, const char* pipeline, bool* changed) {
  std::optional<hlo::Source> source;
  const hlo::Source* place = nullptr;
  return Guarded(&place, [&]() -> absl::Status {
    RETURN_IF_ERROR(hlo::NeedsPointer(pipeline, "pipeline"));
    place = &source.emplace("passes", pipeline);
    ASSIGN_OR_RETURN(const hlo::Pipeline parsed, hlo::ParsePipeline(pipeline));
    place = module->module->source().get();
    hlo::PassContext context;
    ASSIGN_OR_RETURN(const hlo::PipelineResult result,
                     hlo::RunPipeline(parsed, *module->module, context));
    if (changed != nullptr) *changed = result.changed;
    return absl::OkStatus();
  });
}

size_t hlo_module_parameter_count(const hlo_module* module) {
  const hlo::Computation* const entry = module->module->entry();
  return entry == nullptr ? 0 : static_cast<size_t>(entry->parameter_count());
}

hlo_error* hlo_module_parameter_shape(const hlo_module* module, size_t number, char** shape) {
  return Guarded([&] {
    const size_t count = hlo_module_parameter_count(module);
    if (number >= count)
      return hlo::Error("there is no parameter {}; the module has {}", number, count);
    const hlo::Computation& entry = *module->module->entry();
    return hlo::GiveText(fmt::format("{}", entry.parameter(static_cast<int>(number))->shape()),
                         shape);
  });
}

hlo_error* hlo_module_result_shape(const hlo_module* module, char** shape) {
  return Guarded([&] {
    const hlo::Computation* const entry = module->module->entry();
    if (entry == nullptr) return hlo::Error("the module has no entry computation");
    return hlo::GiveText(fmt::format("{}", entry->root()->shape()), shape);
  });
}

void hlo_module_free(hlo_module* module) { delete module; }

hlo_error* hlo_value_array(const char* type, const int64_t* dimensions, size_t rank,
                           const void* data, size_t bytes, hlo_value** value) {
  return Guarded([&]() -> absl::Status {
    RETURN_IF_ERROR(hlo::NeedsPointer(type, "type"));
    RETURN_IF_ERROR(hlo::NeedsPointer(value, "value"));
    std::string text = fmt::format("{}[", type);
    for (size_t i = 0; i < rank; ++i) text += fmt::format("{}{}", i == 0 ? "" : ",", dimensions[i]);
    ASSIGN_OR_RETURN(const hlo::Shape shape, hlo::ParseShape(text + "]"));
    if (!shape.IsArray()) return hlo::Error("`{}` is no type of elements", type);
    hlo::Literal literal(shape);
    if (static_cast<int64_t>(bytes) != literal.byte_size()) {
      return hlo::Error("`{}` has {} bytes, but {} are given", shape, literal.byte_size(), bytes);
    }
    if (bytes > 0) {
      RETURN_IF_ERROR(hlo::NeedsPointer(data, "data"));
      std::memcpy(literal.mutable_data(), data, bytes);
    }
    *value = hlo::NewValue(std::move(literal));
    return absl::OkStatus();
  });
}

hlo_error* hlo_value_tuple(const hlo_value* const* elements, size_t count, hlo_value** value) {
  return Guarded([&]() -> absl::Status {
    std::vector<hlo::Literal> literals;
    for (size_t i = 0; i < count; ++i) {
      RETURN_IF_ERROR(hlo::NeedsPointer(elements[i], "elements[i]"));
      literals.push_back(elements[i]->literal);
    }
    *value = hlo::NewValue(hlo::Literal::Tuple(std::move(literals)));
    return absl::OkStatus();
  });
}

hlo_error* hlo_value_parse(const char* text, hlo_value** value) {
  const hlo::Source source("value", text == nullptr ? "" : text);
  const hlo::Source* const place = &source;
  return Guarded(&place, [&]() -> absl::Status {
    RETURN_IF_ERROR(hlo::NeedsPointer(text, "text"));
    ASSIGN_OR_RETURN(hlo::Literal literal, hlo::ParseShapeAndLiteral(text));
    *value = hlo::NewValue(std::move(literal));
    return absl::OkStatus();
  });
}

hlo_error* hlo_value_print(const hlo_value* value, char** text) {
  return Guarded([&] {
    return hlo::GiveText(fmt::format("{} {}", value->literal.shape(), value->literal.ToString()),
                         text);
  });
}

const char* hlo_value_type(const hlo_value* value) {
  const hlo::Shape shape = value->literal.shape();
  return hlo::Info(shape.element_type()).text.data();
}

size_t hlo_value_rank(const hlo_value* value) {
  const hlo::Shape shape = value->literal.shape();
  return shape.IsArray() ? shape.dims().size() : 0;
}
const int64_t* hlo_value_dimensions(const hlo_value* value) {
  const hlo::Shape shape = value->literal.shape();
  return shape.IsArray() ? shape.dims().data() : nullptr;  // shapes live as long as the process
}
size_t hlo_value_element_count(const hlo_value* value) {
  return value->literal.shape().IsArray() ? static_cast<size_t>(value->literal.element_count()) : 0;
}
size_t hlo_value_bytes(const hlo_value* value) {
  return static_cast<size_t>(value->literal.byte_size());
}
const void* hlo_value_data(const hlo_value* value) { return value->literal.data(); }
size_t hlo_value_tuple_size(const hlo_value* value) { return value->elements.size(); }
const hlo_value* hlo_value_element(const hlo_value* value, size_t number) {
  return number < value->elements.size() ? &value->elements[number] : nullptr;
}
void hlo_value_free(hlo_value* value) { delete value; }

hlo_error* hlo_compile(const hlo_module* module, const char* platform, const char* options,
                       hlo_program** program) {
  const hlo::Source* source = nullptr;
  return Guarded(&source, [&]() -> absl::Status {
    RETURN_IF_ERROR(hlo::NeedsPointer(program, "program"));
    auto made = std::make_unique<hlo_program>();
    ASSIGN_OR_RETURN(made->backend, hlo::FindBackend(platform == nullptr ? "cpu" : platform));
    RETURN_IF_ERROR(hlo::ReadOptions(options, made->options));
    source = module->module->source().get();
    made->code = std::make_unique<hlo::CodeStore>();
    made->options.code_store = made->code.get();
    if (module->module->entry() == nullptr)
      return hlo::Error("the module has no entry computation");
    RETURN_IF_ERROR(hlo::CompileInto(module->module->Clone(), *made));
    *program = made.release();
    return absl::OkStatus();
  });
}

hlo_error* hlo_program_save(const hlo_program* program, const char* path) {
  return Guarded([&]() -> absl::Status {
    RETURN_IF_ERROR(hlo::NeedsPointer(path, "path"));
    if (!program->file.empty()) return hlo::WriteFile(path, program->file);
    ASSIGN_OR_RETURN(
        const std::string bytes,
        hlo::PackExecutable(*program->executable, *program->backend, program->options));
    return hlo::WriteFile(path, bytes);
  });
}

hlo_error* hlo_program_load(const char* path, const char* options, hlo_program** program) {
  return Guarded([&]() -> absl::Status {
    RETURN_IF_ERROR(hlo::NeedsPointer(path, "path"));
    RETURN_IF_ERROR(hlo::NeedsPointer(program, "program"));
    auto made = std::make_unique<hlo_program>();
    ASSIGN_OR_RETURN(made->file, hlo::ReadFile(path));
    RETURN_IF_ERROR(hlo::Load(path, options, *made));
    *program = made.release();
    return absl::OkStatus();
  });
}

hlo_error* hlo_program_print(const hlo_program* program, char** text) {
  return Guarded([&] {
    return hlo::GiveText(hlo::ToText(program->executable->module(), hlo::PrintOptions::Default()),
                         text);
  });
}

size_t hlo_program_memory_bytes(const hlo_program* program) {
  return static_cast<size_t>(program->executable->stats().peak_bytes);
}

hlo_error* hlo_program_run(const hlo_program* program, const hlo_value* const* arguments,
                           size_t count, hlo_value** result) {
  const hlo::Source* const source = program->source.get();
  return Guarded(&source, [&]() -> absl::Status {
    RETURN_IF_ERROR(hlo::NeedsPointer(result, "result"));
    return hlo::RunProgram(*program, absl::MakeConstSpan(arguments, count), result);
  });
}

void hlo_program_free(hlo_program* program) { delete program; }
