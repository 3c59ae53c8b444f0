#include "lib/eval/ffi_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>

#include "lib/eval/ffi_abi.h"
#include "lib/eval/ffi_attributes.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo {
namespace ffi {

struct Error {
  std::string message;
  int32_t code;
};
struct Context {};

namespace {

constexpr int32_t kUnimplementedCode = 12;
constexpr size_t kLeastAlignment = 64;

Error* CreateError(ErrorArguments* arguments) {
  return new Error{arguments->message, arguments->code};
}
void ErrorMessage(ErrorMessageArguments* arguments) {
  arguments->result = arguments->error->message.c_str();
}
void DestroyError(ErrorDestroyArguments* arguments) { delete arguments->error; }

Error* RefuseCall(void*) {
  return new Error{"streams, state, user data and futures are not offered here",
                   kUnimplementedCode};
}

Error* Allocate(AllocateArguments* arguments) {
  const auto alignment = std::max(arguments->alignment, kLeastAlignment);
  const auto size = RoundUp(static_cast<int64_t>(arguments->size), static_cast<int64_t>(alignment));
  arguments->result = std::aligned_alloc(alignment, static_cast<size_t>(size));
  return nullptr;
}
Error* Free(FreeArguments* arguments) {
  std::free(arguments->data);
  return nullptr;
}
// At once: there is one thread.
Error* Schedule(ScheduleArguments* arguments) {
  arguments->task(arguments->data);
  return nullptr;
}
Error* ThreadCount(ThreadCountArguments* arguments) {
  *arguments->result = 1;
  return nullptr;
}
Error* RunId(RunIdArguments* arguments) {
  arguments->result = 0;
  return nullptr;
}
Error* Device(DeviceArguments* arguments) {
  arguments->result = 0;
  return nullptr;
}

constexpr Api kApi = {
    sizeof(Api),  nullptr,     {sizeof(Api::version), nullptr, kMajorVersion, kMinorVersion},
    nullptr,      CreateError, ErrorMessage,
    DestroyError, RefuseCall,  RefuseCall,
    RefuseCall,   RefuseCall,  RefuseCall,
    RefuseCall,   Allocate,    Free,
    Schedule,     ThreadCount, RefuseCall,
    RefuseCall,   RefuseCall,  RunId,
    Device};

// Arrays as a handler sees them.
class BufferList {
 public:
  void Add(const Literal& literal, void* data) {
    const auto dims = literal.shape().dims();
    dims_.emplace_back(dims.begin(), dims.end());
    buffers_.push_back({sizeof(Buffer), nullptr, TypeNumber(literal.element_type()), data,
                        literal.shape().rank(), dims_.back().data()});
    kinds_.push_back(kIsBuffer);
  }
  Values values() {
    for (Buffer& buffer : buffers_) pointers_.push_back(&buffer);
    return {sizeof(Values), nullptr, std::ssize(buffers_), kinds_.data(), pointers_.data()};
  }

 private:
  std::deque<std::vector<int64_t>> dims_;
  std::deque<Buffer> buffers_;
  std::vector<int32_t> kinds_;
  std::vector<void*> pointers_;
};

template <class Fn>
void ForEachArray(Literal& literal, const Fn& fn) {
  if (literal.shape().IsArray()) fn(literal);
  for (Literal& element : literal.mutable_elements()) ForEachArray(element, fn);
}

std::map<std::string, Handler*, std::less<>>& Handlers() {
  static std::map<std::string, Handler*, std::less<>> handlers;
  return handlers;
}

}  // namespace
}  // namespace ffi

absl::Status LoadCustomCall(std::string target, const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Error("cannot load `{}`: {}", path, dlerror());
  void* symbol = dlsym(library, target.c_str());
  if (symbol == nullptr) return Error("`{}` has no symbol `{}`", path, target);
  ffi::Handlers()[std::move(target)] = reinterpret_cast<ffi::Handler*>(symbol);
  return absl::OkStatus();
}

bool HasLoadedCustomCall(std::string_view target) { return ffi::Handlers().contains(target); }

absl::StatusOr<Literal> RunLoadedCustomCall(const Instruction& call,
                                            absl::Span<const Literal> operands) {
  const std::string_view target = call.attrs<CustomCallAttrs>().custom_call_target;
  ASSIGN_OR_RETURN(const std::unique_ptr<ffi::AttributeTable> attributes,
                   ffi::AttributeTable::Parse(call.backend_config(), call.loc()));
  std::vector<Literal> inputs(operands.begin(), operands.end());
  ffi::BufferList arguments, results;
  for (Literal& input : inputs) {
    // Handlers only read their arguments, so these need no copies of their own.
    ffi::ForEachArray(
        input, [&](Literal& array) { arguments.Add(array, const_cast<uint8_t*>(array.data())); });
  }
  Literal result(call.shape());
  ffi::ForEachArray(result, [&](Literal& array) { results.Add(array, array.mutable_data()); });
  ffi::Context context;
  ffi::CallFrame frame{offsetof(ffi::CallFrame, future),
                       nullptr,
                       &ffi::kApi,
                       &context,
                       ffi::kExecute,
                       arguments.values(),
                       results.values(),
                       *attributes->attributes(),
                       nullptr};
  const std::unique_ptr<ffi::Error> error(ffi::Handlers().find(target)->second(&frame));
  if (error != nullptr)
    return Error(call.loc(), "custom call `{}` failed: {}", target, error->message);
  return result;
}

}  // namespace hlo
