// lib/eval/ffi_abi.h
//
// The binary interface of XLA's typed custom calls (FFI 0.3) as a caller needs it: what a handler
// is given, and the functions that it may call back. Names are ours; order, sizes and numbers are
// the interface's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/types/element_type.h"

namespace hlo::ffi {

// How the interface numbers element types.
constexpr int32_t TypeNumber(ElementType type) {
  switch (type) {
// clang-format off
#define HLO_TYPE(Name, text, bits, cls, proto, native) \
  case ElementType::k##Name: return proto;
#include "lib/types/element_types.def"
    // clang-format on
  }
  return 0;
}

struct Error;    // made and freed by the caller of the handler
struct Context;  // of one call

struct Bytes {
  const char* data;
  size_t size;
};

constexpr int32_t kIsBuffer = 1;  // the kind of all arguments and results
enum AttributeKind : int32_t { kArray = 1, kDictionary = 2, kScalar = 3, kString = 4 };

struct Buffer {
  size_t struct_size;
  void* extension;
  int32_t type;  // the proto number of the element type
  void* data;
  int64_t rank;
  int64_t* dims;
};

struct ScalarAttribute {
  int32_t type;
  void* value;
};
struct ArrayAttribute {
  int32_t type;
  size_t size;
  void* data;
};

// Arguments, results.
struct Values {
  size_t struct_size;
  void* extension;
  int64_t size;
  int32_t* kinds;
  void** values;
};
struct Attributes {
  size_t struct_size;
  void* extension;
  int64_t size;
  int32_t* kinds;
  Bytes** names;  // sorted
  void** values;
};

constexpr int kMajorVersion = 0, kMinorVersion = 3;

// What the functions below take; `result` where they give something.
struct ErrorArguments {
  size_t struct_size;
  void* extension;
  const char* message;
  int32_t code;
};
struct ErrorMessageArguments {
  size_t struct_size;
  void* extension;
  Error* error;
  const char* result;
};
struct ErrorDestroyArguments {
  size_t struct_size;
  void* extension;
  Error* error;
};
struct AllocateArguments {
  size_t struct_size;
  void* extension;
  Context* context;
  size_t size;
  size_t alignment;
  void* result;
};
struct FreeArguments {
  size_t struct_size;
  void* extension;
  Context* context;
  size_t size;
  void* data;
};
struct ScheduleArguments {
  size_t struct_size;
  void* extension;
  Context* context;
  void (*task)(void* data);
  void* data;
};
struct ThreadCountArguments {
  size_t struct_size;
  void* extension;
  Context* context;
  int64_t* result;
};
struct RunIdArguments {
  size_t struct_size;
  void* extension;
  Context* context;
  int64_t result;
};
struct DeviceArguments {
  size_t struct_size;
  void* extension;
  Context* context;
  int32_t result;
};

using Refusal = Error*(void*);  // what is not offered here

struct Api {
  size_t struct_size;
  void* extension;
  struct {
    size_t struct_size;
    void* extension;
    int major_version;
    int minor_version;
  } version;
  const void* internal;
  Error* (*create_error)(ErrorArguments*);
  void (*error_message)(ErrorMessageArguments*);
  void (*destroy_error)(ErrorDestroyArguments*);
  Refusal* register_handler;
  Refusal* stream;
  Refusal* register_type;
  Refusal* execution_context;
  Refusal* set_state;
  Refusal* get_state;
  Error* (*allocate)(AllocateArguments*);
  Error* (*free)(FreeArguments*);
  Error* (*schedule)(ScheduleArguments*);
  Error* (*thread_count)(ThreadCountArguments*);
  Refusal* create_future;
  Refusal* future_available;
  Refusal* future_error;
  Error* (*run_id)(RunIdArguments*);
  Error* (*device)(DeviceArguments*);
};

constexpr int32_t kExecute = 3;  // the stage

struct CallFrame {
  size_t struct_size;  // up to `future`
  void* extension;
  const Api* api;
  Context* context;
  int32_t stage;
  Values arguments;
  Values results;
  Attributes attributes;
  void* future;
};

using Handler = Error*(CallFrame*);

}  // namespace hlo::ffi
