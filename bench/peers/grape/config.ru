# The sample's projects and images with Grape, its entities and ActiveRecord, for Puma.
require "active_record"
require "grape"
require "grape-entity"

# A connection for each of Puma's threads.
ActiveRecord::Base.establish_connection(
  adapter: "mysql2", encoding: "utf8mb4", pool: 5,
  host: ENV["DB_HOST"], port: ENV["DB_PORT"], database: ENV["DB_NAME"],
  username: ENV["DB_USER"], password: ENV["DB_PASSWORD"]
)

class Company < ActiveRecord::Base
  has_many :projects
end

class Project < ActiveRecord::Base
end

class Image < ActiveRecord::Base
  # `type` is a plain column here.
  self.inheritance_column = nil
  self.primary_key = "_id"
end

class ProjectEntity < Grape::Entity
  expose :id, :name
end

class ImageEntity < Grape::Entity
  format_with(:plain) { |time| time&.strftime("%Y-%m-%dT%H:%M:%S") }
  expose :_id, :name, :access, :type, :format, :owner, :status, :size
  with_options(format_with: :plain) { expose :created_at, :accessed_at }
  expose :access_count, :checksum, :others
end

class Api < Grape::API
  format :json

  get :projects do
    company = Company.find_by(api: params[:key])
    error!({status: "Fail", error_message: "Bad api key"}, 401) unless company
    {status: "Success", data: ProjectEntity.represent(company.projects.order(:id))}
  end

  get "images/:id" do
    image = Image.transaction do
      found = Image.find_by(_id: params[:id])
      Image.where(_id: params[:id])
           .update_all("access_count = access_count + 1, accessed_at = CURRENT_TIMESTAMP")
      found
    end
    error!({code: 404, message: "No image found with id '#{params[:id]}'."}, 404) unless image
    {image: ImageEntity.represent(image)}
  end
end

Api.compile!
run Api
