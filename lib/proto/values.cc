#include "lib/proto/values.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "lib/support/round.h"
#include "lib/types/memory_order.h"
#include "lib/types/shape_util.h"

namespace hlo::internal {
namespace {

// ---- shapes ----

template <class Io>
void MapShapePart(const Io& io, Tile& tile) {
  io.Ints("dimensions", tile.dims);
}
template <class Io>
void MapShapePart(const Io& io, SplitConfig& split) {
  io.Int("dimension", split.dimension);
  io.Ints("split_indices", split.indices);
}

template <class Io>
void TypeField(const Io& io, const char* name, std::optional<ElementType>& type) {
  int64_t number = type ? Info(*type).proto_number : 0;
  io.Int(name, number);
  if constexpr (Io::kReads) {
    if (number != 0) type = ElementTypeFromProto(static_cast<int>(number));
  }
}

template <class Io>
void MapShapePart(const Io& io, Layout& layout) {
  io.Ints("minor_to_major", layout.minor_to_major);
  io.Each("tiles", layout.tiles, [](const auto& part, Tile& tile) { MapShapePart(part, tile); });
  int64_t tail = layout.tail_padding_alignment;
  io.Int("tail_padding_alignment_in_elements", tail);
  if constexpr (Io::kReads) layout.tail_padding_alignment = tail == 0 ? 1 : tail;
  io.Int("element_size_in_bits", layout.element_size_in_bits);
  io.Int("memory_space", layout.memory_space);
  TypeField(io, "index_primitive_type", layout.index_type);
  TypeField(io, "pointer_primitive_type", layout.pointer_type);
  io.Int("dynamic_shape_metadata_prefix_bytes", layout.dynamic_shape_metadata_prefix_bytes);
  io.Each("split_configs", layout.split_configs,
          [](const auto& part, SplitConfig& split) { MapShapePart(part, split); });
}

}  // namespace

void WriteShape(Shape shape, pb::Message& message) {
  const FieldWriter io(message);
  io.Set("element_type", Info(shape.element_type()).proto_number);
  for (const Shape element : shape.elements()) WriteShape(element, *io.AddMessage("tuple_shapes"));
  if (!shape.IsArray()) return;
  DimVec dims(shape.dims().begin(), shape.dims().end());
  DimVec dynamic;
  for (int i = 0; i < shape.rank(); ++i) dynamic.push_back(shape.is_dynamic(i) ? 1 : 0);
  io.Ints("dimensions", dims);
  io.Ints("is_dynamic_dimension", dynamic);
  if (const Layout* layout = shape.layout_or_null()) {
    Layout copy = *layout;
    io.Message("layout", true, [&](const auto& part) { MapShapePart(part, copy); });
  }
}

Shape ReadShape(const FieldReader& io) {
  const std::optional<ElementType> type =
      ElementTypeFromProto(static_cast<int>(io.Get("element_type")));
  if (!type) {
    io.Problem("a shape has the unknown element type " + std::to_string(io.Get("element_type")));
    return Shape();
  }
  std::vector<Shape> elements;
  io.Each("tuple_shapes", elements, [](const auto& part, Shape& s) { s = ReadShape(part); });
  if (*type == ElementType::kTuple) return Shape::Tuple(elements);
  if (*type == ElementType::kToken) return Shape::Token();
  if (*type == ElementType::kOpaque) return Shape::Opaque();
  if (*type == ElementType::kBuffer) {
    if (elements.size() == 1 && elements[0].IsArray()) return Shape::Buffer(elements[0]);
    io.Problem("a buffer shape does not hold one array");
    return Shape();
  }
  DimVec dims, flags;
  io.Ints("dimensions", dims);
  io.Ints("is_dynamic_dimension", flags);
  absl::InlinedVector<bool, 6> dynamic(dims.size(), false);
  for (size_t i = 0; i < dims.size(); ++i) {
    dynamic[i] = dims[i] == Shape::kUnbounded || (i < flags.size() && flags[i] != 0);
    if (dims[i] >= 0 || dims[i] == Shape::kUnbounded) continue;
    io.Problem("a shape has a dimension of size " + std::to_string(dims[i]));
    return Shape();
  }
  Shape shape = Shape::Array(*type, dims, dynamic);
  if (!io.Has("layout")) {
    shape = dims.empty() ? shape : shape.WithoutLayout();
  } else {
    Layout layout;
    MapShapePart(io.Sub("layout"), layout);
    DimVec sorted = layout.minor_to_major;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (sorted.size() == dims.size() && sorted[i] == static_cast<int64_t>(i)) continue;
      io.Problem("a layout does not order the dimensions of its shape");
      return Shape();
    }
    // Sparse arrays and old protos leave the order out.
    if (sorted.size() < dims.size()) layout.minor_to_major = shape.layout().minor_to_major;
    shape = shape.WithLayout(layout);
  }
  if (const absl::Status status = ValidateShape(shape); !status.ok())
    io.Problem(std::string(status.message()));
  return shape;
}

// ---- literals ----

namespace {

// The field that holds the elements of a type, and their form there.
struct ValuesField {
  ElementType type;
  const char* name;
  enum { kBytes, kPacked, kNumbers } form;
};
constexpr ValuesField kValuesFields[] = {
    {ElementType::kPred, "preds", ValuesField::kNumbers},
    {ElementType::kS1, "s1s", ValuesField::kPacked},
    {ElementType::kS2, "s2s", ValuesField::kPacked},
    {ElementType::kS4, "s4s", ValuesField::kPacked},
    {ElementType::kS8, "s8s", ValuesField::kBytes},
    {ElementType::kS16, "s16s", ValuesField::kBytes},
    {ElementType::kS32, "s32s", ValuesField::kNumbers},
    {ElementType::kS64, "s64s", ValuesField::kNumbers},
    {ElementType::kU1, "u1s", ValuesField::kPacked},
    {ElementType::kU2, "u2s", ValuesField::kPacked},
    {ElementType::kU4, "u4s", ValuesField::kPacked},
    {ElementType::kU8, "u8s", ValuesField::kBytes},
    {ElementType::kU16, "u16s", ValuesField::kBytes},
    {ElementType::kU32, "u32s", ValuesField::kNumbers},
    {ElementType::kU64, "u64s", ValuesField::kNumbers},
    {ElementType::kF4E2M1FN, "f4e2m1fns", ValuesField::kPacked},
    {ElementType::kF6E2M3FN, "f6e2m3fns", ValuesField::kBytes},
    {ElementType::kF6E3M2FN, "f6e3m2fns", ValuesField::kBytes},
    {ElementType::kF8E3M4, "f8e3m4s", ValuesField::kBytes},
    {ElementType::kF8E4M3, "f8e4m3s", ValuesField::kBytes},
    {ElementType::kF8E4M3B11FNUZ, "f8e4m3b11fnuzs", ValuesField::kBytes},
    {ElementType::kF8E4M3FN, "f8e4m3fns", ValuesField::kBytes},
    {ElementType::kF8E4M3FNUZ, "f8e4m3fnuzs", ValuesField::kBytes},
    {ElementType::kF8E5M2, "f8e5m2s", ValuesField::kBytes},
    {ElementType::kF8E5M2FNUZ, "f8e5m2fnuzs", ValuesField::kBytes},
    {ElementType::kF8E8M0FNU, "f8e8m0fnus", ValuesField::kBytes},
    {ElementType::kF16, "f16s", ValuesField::kBytes},
    {ElementType::kBF16, "bf16s", ValuesField::kBytes},
    {ElementType::kF32, "f32s", ValuesField::kNumbers},
    {ElementType::kF64, "f64s", ValuesField::kNumbers},
    {ElementType::kC64, "c64s", ValuesField::kNumbers},
    {ElementType::kC128, "c128s", ValuesField::kNumbers},
};

const ValuesField* FindValuesField(ElementType type) {
  for (const ValuesField& field : kValuesFields) {
    if (field.type == type) return &field;
  }
  return nullptr;
}

// Whether the elements of the message, in the order of the layout, lie otherwise than ours.
bool IsReordered(Shape shape) {
  const Layout* layout = shape.layout_or_null();
  return layout != nullptr && !layout->IsRowMajor();
}

template <class T>
void AddNumbers(const Literal& literal, int64_t count, pb::Message& message,
                const pb::FieldDescriptor* field,
                void (pb::Reflection::*add)(pb::Message*, const pb::FieldDescriptor*, T) const) {
  for (int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, literal.data() + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    (message.GetReflection()->*add)(&message, field, value);
  }
}

template <class T>
void TakeNumbers(const pb::Message& message, const pb::FieldDescriptor* field, Literal& literal,
                 T (pb::Reflection::*get)(const pb::Message&, const pb::FieldDescriptor*, int)
                     const) {
  uint8_t* data = literal.mutable_data();
  const int count = message.GetReflection()->FieldSize(message, field);
  for (int i = 0; i < count; ++i) {
    const T value = (message.GetReflection()->*get)(message, field, i);
    std::memcpy(data + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
  }
}

using Kind = pb::FieldDescriptor::CppType;

void AddValues(const Literal& literal, const ValuesField& values, pb::Message& message) {
  const pb::FieldDescriptor* field = FieldOf(message, values.name);
  const int64_t count = literal.element_count();
  if (values.form == ValuesField::kNumbers) {
    const int64_t numbers = count * (IsComplex(values.type) ? 2 : 1);
    switch (field->cpp_type()) {
      case Kind::CPPTYPE_BOOL:
        return AddNumbers<bool>(literal, numbers, message, field, &pb::Reflection::AddBool);
      case Kind::CPPTYPE_INT32:
        return AddNumbers<int32_t>(literal, numbers, message, field, &pb::Reflection::AddInt32);
      case Kind::CPPTYPE_INT64:
        return AddNumbers<int64_t>(literal, numbers, message, field, &pb::Reflection::AddInt64);
      case Kind::CPPTYPE_UINT32:
        return AddNumbers<uint32_t>(literal, numbers, message, field, &pb::Reflection::AddUInt32);
      case Kind::CPPTYPE_UINT64:
        return AddNumbers<uint64_t>(literal, numbers, message, field, &pb::Reflection::AddUInt64);
      case Kind::CPPTYPE_FLOAT:
        return AddNumbers<float>(literal, numbers, message, field, &pb::Reflection::AddFloat);
      case Kind::CPPTYPE_DOUBLE:
        return AddNumbers<double>(literal, numbers, message, field, &pb::Reflection::AddDouble);
      default: HLO_UNREACHABLE();
    }
  }
  std::string bytes;
  if (values.form == ValuesField::kBytes) {
    bytes.assign(reinterpret_cast<const char*>(literal.data()),
                 static_cast<size_t>(literal.byte_size()));
  } else {
    // Elements from the lowest bits up.
    const int bits = BitWidth(values.type);
    const int per_byte = 8 / bits;
    bytes.assign(static_cast<size_t>(CeilDiv(count, per_byte)), '\0');
    for (int64_t i = 0; i < count; ++i) {
      const int low = literal.data()[i] & ((1 << bits) - 1);
      bytes[static_cast<size_t>(i / per_byte)] |= static_cast<char>(low << (i % per_byte * bits));
    }
  }
  message.GetReflection()->SetString(&message, field, bytes);
}

void TakeValues(const FieldReader& io, const ValuesField& values, Literal& literal) {
  const pb::Message& message = io.message();
  const pb::FieldDescriptor* field = FieldOf(message, values.name);
  const int64_t count = literal.element_count();
  const auto check = [&](int64_t found, int64_t expected) {
    if (found == expected) return true;
    io.Problem("a literal of shape `" + literal.shape().ToString() + "` has " +
               std::to_string(found) + " values in `" + values.name + "`, expected " +
               std::to_string(expected));
    return false;
  };
  if (values.form == ValuesField::kNumbers) {
    if (!check(io.Count(values.name), count * (IsComplex(values.type) ? 2 : 1))) return;
    switch (field->cpp_type()) {
      case Kind::CPPTYPE_BOOL:
        return TakeNumbers<bool>(message, field, literal, &pb::Reflection::GetRepeatedBool);
      case Kind::CPPTYPE_INT32:
        return TakeNumbers<int32_t>(message, field, literal, &pb::Reflection::GetRepeatedInt32);
      case Kind::CPPTYPE_INT64:
        return TakeNumbers<int64_t>(message, field, literal, &pb::Reflection::GetRepeatedInt64);
      case Kind::CPPTYPE_UINT32:
        return TakeNumbers<uint32_t>(message, field, literal, &pb::Reflection::GetRepeatedUInt32);
      case Kind::CPPTYPE_UINT64:
        return TakeNumbers<uint64_t>(message, field, literal, &pb::Reflection::GetRepeatedUInt64);
      case Kind::CPPTYPE_FLOAT:
        return TakeNumbers<float>(message, field, literal, &pb::Reflection::GetRepeatedFloat);
      case Kind::CPPTYPE_DOUBLE:
        return TakeNumbers<double>(message, field, literal, &pb::Reflection::GetRepeatedDouble);
      default: HLO_UNREACHABLE();
    }
  }
  std::string bytes;
  io.Text(values.name, bytes);
  if (values.form == ValuesField::kBytes) {
    if (check(static_cast<int64_t>(bytes.size()), literal.byte_size()))
      std::memcpy(literal.mutable_data(), bytes.data(), bytes.size());
    return;
  }
  const int bits = BitWidth(values.type);
  const int per_byte = 8 / bits;
  if (!check(static_cast<int64_t>(bytes.size()), CeilDiv(count, per_byte))) return;
  uint8_t* data = literal.mutable_data();
  for (int64_t i = 0; i < count; ++i) {
    const int shift = static_cast<int>(i % per_byte) * bits;
    const int byte = static_cast<uint8_t>(bytes[static_cast<size_t>(i / per_byte)]);
    const int low = (byte >> shift) & ((1 << bits) - 1);
    const bool negative =
        IsSigned(values.type) && IsInteger(values.type) && (low >> (bits - 1)) != 0;
    data[i] = static_cast<uint8_t>(negative ? low - (1 << bits) : low);
  }
}

}  // namespace

void WriteLiteral(const Literal& literal, pb::Message& message) {
  const FieldWriter io(message);
  const Shape shape = literal.shape();
  io.Message("shape", true, [&](const auto& part) { WriteShape(shape, part.message()); });
  for (const Literal& element : literal.elements())
    WriteLiteral(element, *io.AddMessage("tuple_literals"));
  const ValuesField* values = FindValuesField(shape.element_type());
  if (values == nullptr || literal.data() == nullptr) return;
  AddValues(IsReordered(shape) ? literal.Transposed(MajorToMinor(shape)) : literal, *values,
            message);
}

Literal ReadLiteral(const FieldReader& io) {
  Shape shape;
  if (!io.Has("shape")) {
    io.Problem("a literal has no shape");
    return Literal();
  }
  shape = ReadShape(io.Sub("shape"));
  if (!io.problem().empty()) return Literal();
  if (shape.IsTuple()) {
    std::vector<Literal> elements;
    io.Each("tuple_literals", elements,
            [](const auto& part, Literal& e) { e = ReadLiteral(part); });
    if (static_cast<int>(elements.size()) != shape.element_count_of_tuple())
      io.Problem("a tuple literal has " + std::to_string(elements.size()) +
                 " elements for shape `" + shape.ToString() + "`");
    return Literal::Tuple(std::move(elements));
  }
  if (shape.IsToken()) return Literal::Token();
  const ValuesField* values = FindValuesField(shape.element_type());
  shape = shape.WithoutDynamic();
  // No literal is longer than what holds it: what a shape says is not believed before the values
  // are there.
  const auto limit = static_cast<int64_t>(io.message().ByteSizeLong());
  if (values == nullptr || shape.element_count() / 8 > limit) {
    io.Problem("a literal of shape `" + shape.ToString() + "` does not hold its values");
    return Literal();
  }
  if (!IsReordered(shape)) {
    Literal literal(shape);
    TakeValues(io, *values, literal);
    return literal;
  }
  const DimVec order = MajorToMinor(shape);
  DimVec dims, inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    dims.push_back(shape.dim(static_cast<int>(order[i])));
    inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  Literal stored(Shape::Array(shape.element_type(), dims));
  TakeValues(io, *values, stored);
  return stored.Transposed(inverse).WithShapeLayout(shape);
}

// ---- origins ----

namespace {

void WriteOriginNode(const OriginalValue::Node& node, ShapeIndex& index, const FieldWriter& io) {
  if (node.is_tuple) {
    for (size_t i = 0; i < node.children.size(); ++i) {
      index.push_back(static_cast<int64_t>(i));
      WriteOriginNode(node.children[i], index, io);
      index.pop_back();
    }
    return;
  }
  const FieldWriter element(*io.AddMessage("elements"));
  element.Ints("shape_index", index);
  if (node.leaf.name.empty()) return;
  OriginalArray array = node.leaf;
  element.Message("original_array", true, [&](const auto& part) { Map(part, array); });
}

}  // namespace

void WriteOrigin(const OriginalValue& origin, pb::Message& message) {
  const FieldWriter io(message);
  io.Set("is_synthetic_call", origin.synthetic_call ? 1 : 0);
  ShapeIndex index;
  if (!origin.synthetic_call) WriteOriginNode(origin.tree, index, io);
}

OriginalValue ReadOrigin(const FieldReader& io) {
  constexpr int64_t kMostChildren = 1 << 20;
  OriginalValue origin;
  io.Int("is_synthetic_call", origin.synthetic_call);
  const int count = io.Count("elements");
  origin.tree.is_tuple = count == 0 && !origin.synthetic_call;
  for (int i = 0; i < count; ++i) {
    const FieldReader element = io.Item("elements", i);
    ShapeIndex index;
    element.Ints("shape_index", index);
    OriginalValue::Node* node = &origin.tree;
    for (const int64_t step : index) {
      if (step < 0 || step > kMostChildren) {
        io.Problem("an origin has the index " + std::to_string(step));
        return origin;
      }
      node->is_tuple = true;
      if (node->children.size() <= static_cast<size_t>(step))
        node->children.resize(static_cast<size_t>(step) + 1);
      node = &node->children[static_cast<size_t>(step)];
    }
    if (element.Has("original_array")) Map(element.Sub("original_array"), node->leaf);
  }
  return origin;
}

}  // namespace hlo::internal
