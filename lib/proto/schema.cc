#include "lib/proto/schema.h"

#include <google/protobuf/compiler/parser.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cstring>

#include "lib/support/check.h"

namespace hlo {
namespace {

namespace pb = google::protobuf;

constexpr char kSchema[] =
#include "lib/proto/schema.inc"
    ;

// A fault in the schema is a fault of this program.
class NoErrors final : public pb::io::ErrorCollector {
 public:
  void AddError(int, pb::io::ColumnNumber, const std::string&) override { HLO_UNREACHABLE(); }
};

struct Schema {
  pb::DescriptorPool pool;
  pb::DynamicMessageFactory factory;

  Schema() : factory(&pool) {
    pb::io::ArrayInputStream input(kSchema, static_cast<int>(std::strlen(kSchema)));
    NoErrors errors;
    pb::io::Tokenizer tokenizer(&input, &errors);
    pb::compiler::Parser parser;
    parser.RecordErrorsTo(&errors);
    pb::FileDescriptorProto file;
    HLO_CHECK(parser.Parse(&tokenizer, &file));
    file.set_name("hlo");
    HLO_CHECK(pool.BuildFile(file) != nullptr);
  }
};

}  // namespace

std::unique_ptr<pb::Message> NewProto(const std::string& name) {
  static auto* schema = new Schema;
  const pb::Descriptor* type = schema->pool.FindMessageTypeByName("xla." + name);
  HLO_CHECK(type != nullptr);
  return std::unique_ptr<pb::Message>(schema->factory.GetPrototype(type)->New());
}

}  // namespace hlo
