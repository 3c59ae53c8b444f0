// Handlers of custom calls for tests in testdata/tools, and for scripts/bench_async.py.
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>

#include "lib/eval/ffi_abi.h"

using hlo::ffi::ArrayAttribute;
using hlo::ffi::Attributes;
using hlo::ffi::Buffer;
using hlo::ffi::Bytes;
using hlo::ffi::CallFrame;
using hlo::ffi::ErrorArguments;
using hlo::ffi::ScalarAttribute;

namespace {

void* FindAttribute(const Attributes& attributes, std::string_view name) {
  for (int64_t i = 0; i < attributes.size; ++i) {
    if (std::string_view(attributes.names[i]->data, attributes.names[i]->size) == name)
      return attributes.values[i];
  }
  return nullptr;
}

}  // namespace

// f32: every element times `factor`, plus the sum of `offsets`; and the length of `label`.
extern "C" __attribute__((visibility("default"))) hlo::ffi::Error* scaled(CallFrame* frame) {
  const auto* input = static_cast<Buffer*>(frame->arguments.values[0]);
  auto* output = static_cast<Buffer*>(frame->results.values[0]);
  auto* length = static_cast<Buffer*>(frame->results.values[1]);
  const auto* factor = static_cast<ScalarAttribute*>(FindAttribute(frame->attributes, "factor"));
  if (factor == nullptr) {
    ErrorArguments error = {sizeof(ErrorArguments), nullptr, "`factor` is missing", 3};
    return frame->api->create_error(&error);
  }
  const auto* offsets = static_cast<ArrayAttribute*>(FindAttribute(frame->attributes, "offsets"));
  const auto* label = static_cast<Bytes*>(FindAttribute(frame->attributes, "label"));
  float by = 0, offset = 0;
  std::memcpy(&by, factor->value, sizeof(by));
  for (size_t i = 0; i < offsets->size; ++i) {
    offset += static_cast<float>(static_cast<int64_t*>(offsets->data)[i]);
  }
  int64_t count = 1;
  for (int64_t d = 0; d < input->rank; ++d) count *= input->dims[d];
  for (int64_t i = 0; i < count; ++i) {
    static_cast<float*>(output->data)[i] = static_cast<float*>(input->data)[i] * by + offset;
  }
  *static_cast<int32_t*>(length->data) = static_cast<int32_t>(label->size);
  return nullptr;
}

// f32: the operand, after `ms` milliseconds; fails then if there is `fail`.
extern "C" __attribute__((visibility("default"))) hlo::ffi::Error* waits(CallFrame* frame) {
  const auto* input = static_cast<Buffer*>(frame->arguments.values[0]);
  auto* output = static_cast<Buffer*>(frame->results.values[0]);
  int64_t milliseconds = 0;
  if (const auto* ms = static_cast<ScalarAttribute*>(FindAttribute(frame->attributes, "ms")))
    std::memcpy(&milliseconds, ms->value, sizeof(milliseconds));
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  if (FindAttribute(frame->attributes, "fail") != nullptr) {
    ErrorArguments error = {sizeof(ErrorArguments), nullptr, "it is to fail", 3};
    return frame->api->create_error(&error);
  }
  int64_t count = 1;
  for (int64_t d = 0; d < input->rank; ++d) count *= input->dims[d];
  std::memcpy(output->data, input->data, static_cast<size_t>(count) * sizeof(float));
  return nullptr;
}
