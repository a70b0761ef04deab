# The sample's projects and images with Sinatra and mysql2's prepared statements, for Thin.
require "json"
require "mysql2"
require "sinatra/base"

class Api < Sinatra::Base
  # Thin answers one request at a time: one connection is all that it can use.
  DB = Mysql2::Client.new(
    host: ENV["DB_HOST"], port: ENV["DB_PORT"].to_i, database: ENV["DB_NAME"],
    username: ENV["DB_USER"], password: ENV["DB_PASSWORD"], encoding: "utf8mb4"
  )
  COMPANY = DB.prepare("SELECT id, name FROM companies WHERE api = ?")
  PROJECTS = DB.prepare("SELECT id, name FROM projects WHERE company_id = ? ORDER BY id")
  IMAGE = DB.prepare(
    "SELECT _id, name, access, type, format, owner, status, size, created_at, accessed_at, access_count, checksum, " \
    "others FROM images WHERE _id = ?"
  )
  ACCESS = DB.prepare(
    "UPDATE images SET access_count = access_count + 1, accessed_at = CURRENT_TIMESTAMP WHERE _id = ?"
  )

  set :environment, :production
  before { content_type :json }

  get "/projects" do
    company = COMPANY.execute(params["key"].to_s).first
    halt 401, JSON.generate(status: "Fail", error_message: "Bad api key") unless company
    JSON.generate(status: "Success", data: PROJECTS.execute(company["id"]).to_a)
  end

  get "/images/:id" do |id|
    DB.query("START TRANSACTION")
    begin
      image = IMAGE.execute(id).first
      ACCESS.execute(id)
      DB.query("COMMIT")
    rescue StandardError
      DB.query("ROLLBACK")
      raise
    end
    halt 404, JSON.generate(code: 404, message: "No image found with id '#{id}'.") unless image
    %w[created_at accessed_at].each { |name| image[name] = image[name]&.strftime("%Y-%m-%dT%H:%M:%S") }
    JSON.generate(image: image)
  end
end

run Api
